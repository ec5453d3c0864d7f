"""How much a user may do, and what they are told when it is too much."""

import asyncio
from pathlib import Path

import pytest

from penstock import Context, InvalidInput, Penstock
from penstock.engine import commands
from penstock.engine.postgres.statement import Statement, nothing
from penstock.server import ServerSettings
from penstock.testing import adrain
from tests.kit import saying
from tests.server.api import Api, Asking, asking


@pytest.fixture
def app(app: Penstock) -> Penstock:
    @app.job(users=True, quota="exports", max_attempts=1)
    def export(n: int) -> None:
        if n < 0:
            raise ValueError(n)

    @app.job(users=True)
    def free(n: int) -> None: ...

    return app


async def ask(asking: Asking, n: int = 0) -> int:
    return (await asking.post("/api/jobs", {"kind": "export", "args": {"n": n}})).status_code


async def test_operations_a_day_are_limited_for_each_user(api: Api, app: Penstock) -> None:
    app.quota("exports", per_day=3)
    alice = api.user("alice")
    assert [await ask(alice) for _ in range(4)] == [202, 202, 202, 429]
    refused = await alice.post("/api/jobs", {"kind": "export", "args": {"n": 1}})
    assert 0 < int(refused.headers["retry-after"]) <= 86_400
    assert refused.json()["detail"] == "3 operations a day are allowed, and they are used up", (
        "in words, not by settings"
    )
    assert await ask(api.user("bob")) == 202
    assert await ask(api.service) == 202
    await alice.start("free", n=1)
    assert len((await app.jobs.alist(owner="alice")).jobs) == 4


async def test_a_batch_counts_each_of_its_jobs_and_a_retry_counts_too(api: Api, app: Penstock) -> None:
    app.quota("exports", per_day=4)
    alice = api.user("alice")
    batch = {"jobs": [{"kind": "export", "args": {"n": n}} for n in (-1, 2)]}
    started = await alice.post("/api/jobs/batch", batch)
    assert started.status_code == 202
    await adrain(app)
    failed = started.json()["jobs"][0]["id"]
    assert (await alice.post(f"/api/jobs/{failed}/retry")).status_code == 202
    assert (await alice.post("/api/jobs/batch", batch)).status_code == 429
    assert await ask(alice) == 202
    assert await ask(alice) == 429


async def test_a_duplicate_is_answered_even_when_the_quota_is_used_up(api: Api, app: Penstock) -> None:
    app.quota("exports", per_day=1)
    key = {"Idempotency-Key": "k"}
    asked = {"kind": "export", "args": {"n": 1}}
    first = await api.user().post("/api/jobs", asked, headers=key)
    again = await api.user().post("/api/jobs", asked, headers=key)
    assert again.status_code == 202
    assert again.json()["id"] == first.json()["id"]


async def test_a_day_is_over_at_midnight(api: Api, app: Penstock) -> None:
    app.quota("exports", per_day=1)
    assert [await ask(api.user()), await ask(api.user())] == [202, 429]
    await app.database.arun(Statement("update penstock.quota_use set day = day - 1 returning 1", [], nothing))
    assert await ask(api.user()) == 202


async def test_jobs_running_at_once_are_limited(api: Api, app: Penstock) -> None:
    app.quota("exports", running=2)
    alice = api.user("alice")
    for n in range(3):
        assert await ask(alice, n) == 202
    lease = await app.engine.arun(commands.OpenLease("test"))
    jobs = await app.engine.arun(commands.Claim(lease, "default", 2))
    refused = await alice.post("/api/jobs", {"kind": "export", "args": {"n": 9}})
    assert refused.status_code == 429
    assert int(refused.headers["retry-after"]) > 0
    await app.engine.arun(saying.complete(lease, jobs[:1]))
    assert await ask(alice) == 202


async def test_unfinished_jobs_are_limited_also_when_many_ask_at_once(api: Api, app: Penstock) -> None:
    app.quota("exports", unfinished=5)
    alice = api.user("alice")
    answers = await asyncio.gather(*(ask(alice, n) for n in range(20)))
    assert sorted(answers) == [202] * 5 + [429] * 15
    assert len((await app.jobs.alist()).jobs) == 5
    await adrain(app)
    assert await ask(alice) == 202


async def test_a_refused_start_leaves_nothing_behind(api: Api, app: Penstock) -> None:
    app.quota("exports", per_day=0)
    key = {"Idempotency-Key": "k"}
    for _ in range(2):
        answer = await api.user().post("/api/jobs", {"kind": "export", "args": {"n": 1}}, headers=key)
        assert answer.status_code == 429
        assert {name: answer.json()[name] for name in ("which", "used", "limit")} == {
            "which": "per_day", "used": 0, "limit": 0,
        }  # fmt: skip
    assert not (await app.jobs.alist()).jobs


async def test_a_quota_that_nobody_set_is_a_mistake_of_the_application(app: Penstock) -> None:
    with pytest.raises(InvalidInput, match=r"app\.quota"):
        await app.declare()


async def test_storage_is_limited_until_something_is_deleted(
    url: str, tmp_path: Path, settings: ServerSettings
) -> None:
    async with Penstock(url, artifacts=tmp_path) as app, asking(app, settings) as api:
        app.quota("files", storage=30)

        @app.job(users=True, quota="files")
        async def keep(ctx: Context, size: int) -> None:
            await ctx.artifacts.put("file.txt", b"x" * size)

        alice = api.user("alice")
        for size in (10, 20):
            await alice.start("keep", size=size)
            await adrain(app)
        refused = await alice.post("/api/jobs", {"kind": "keep", "args": {"size": 1}})
        assert refused.status_code == 507
        assert "30 of 30 bytes" in refused.json()["detail"]
        assert (refused.json()["used"], refused.json()["limit"]) == (30, 30)
        assert len((await app.jobs.alist(owner="alice")).jobs) == 2
        await api.user("bob").start("keep", size=1)
        newest = (await alice.get("/api/jobs")).json()["jobs"][0]["id"]
        [artifact] = (await alice.get(f"/api/jobs/{newest}")).json()["artifacts"]
        assert (await alice.delete(f"/api/artifacts/{artifact['id']}")).status_code == 204
        await alice.start("keep", size=1)


async def test_what_the_service_starts_for_a_user_counts_unless_it_says_otherwise(api: Api, app: Penstock) -> None:
    app.quota("exports", per_day=2, running=1)

    async def start(path: str = "", **about: object) -> int:
        body = {"jobs": [{"kind": "export", "args": {"n": n}} for n in range(2)]} if path == "/batch" else {
            "kind": "export", "args": {"n": 1}
        }  # fmt: skip
        return (await api.service.post(f"/api/jobs{path}", {**body, **about})).status_code

    assert await start("/batch", owner="alice") == 202
    assert await start(owner="alice") == 429
    assert await ask(api.user("alice")) == 429
    lease = await app.engine.arun(commands.OpenLease("test"))
    assert len(await app.engine.arun(commands.Claim(lease, "default", 9))) == 1
    assert [await start(owner="alice", quota=False), await start("/batch", owner="alice", quota=False)] == [202, 202]
    assert await start() == 202
    assert len(await app.engine.arun(commands.Claim(lease, "default", 9))) == 4
    refused = await api.user("bob").post(
        "/api/jobs", {"kind": "export", "args": {"n": 1}, "quota": False}
    )  # fmt: skip
    assert refused.status_code == 403
    export = app.handler("export")
    await export.using(owner="carol").aenqueue(n=1)
    await export.using(owner="carol").aenqueue_many([{"n": n} for n in range(30)])
    assert len(await app.engine.arun(commands.Claim(lease, "default", 9))) == 1
    await export.using(owner="carol", quota=False).aenqueue_many([{"n": n} for n in range(3)])
    assert len(await app.engine.arun(commands.Claim(lease, "default", 9))) == 3
