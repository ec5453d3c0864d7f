"""What BullMQ cannot do is refused by name, at start-up where it can be seen there, and nothing is half done."""

import re
from dataclasses import fields
from pathlib import Path
from typing import Any

import pytest

import penstock
from penstock import Context, EngineCannot, JobFailed, NewJob, Penstock
from penstock.engine.protocol import Capabilities
from penstock.errors import InvalidFlow, InvalidInput
from penstock.flow import Flow
from tests.kit.redis import fresh_redis
from tests.kit.working import working

FIELDS = {each.name for each in fields(Capabilities)}


@pytest.mark.parametrize(
    ("options", "lacks"), [({"users": True}, "users"), ({"quota": "pages"}, "quotas")], ids=["users", "quotas"]
)
def test_a_handler_is_refused_before_the_first_job(options: dict[str, object], lacks: str) -> None:
    with Penstock(fresh_redis()) as app:
        app.job(kind="work", **options)(lambda: None)  # type: ignore[call-overload]
        with pytest.raises(EngineCannot, match="work") as refused:
            app.worker()
        assert refused.value.capability == lacks


@pytest.mark.parametrize(
    ("options", "lacks"), [({"users": True}, "users"), ({"quota": "pages"}, "quotas")], ids=["users", "quotas"]
)
def test_a_flow_is_refused_before_its_first_job(options: dict[str, Any], lacks: str) -> None:
    with Penstock(fresh_redis()) as app:
        app.job(kind="book")(lambda: None)
        app.flow(kind="book", **options)(Flow)
        with pytest.raises(EngineCannot, match="book") as refused:
            app.worker()
        assert refused.value.capability == lacks


def test_what_an_application_says_that_it_needs_is_refused_when_it_starts() -> None:
    needs = ("leads", "durable_waits", "transactions")
    with Penstock(fresh_redis(), needs=needs) as app:
        app.job(kind="work")(lambda: None)
        for start in (app.worker, app.tick, app.check_needs):
            with pytest.raises(EngineCannot, match="'durable_waits'") as refused:
                start()
            assert refused.value.capability == "durable_waits"
    with Penstock("postgresql://127.0.0.1:1/x", needs=needs) as app:
        app.worker()
        with pytest.raises(InvalidInput, match="did you mean 'durable_waits'"):
            app.need("durable_wait")
    with pytest.raises(InvalidInput, match="did you mean 'durable_waits'"):
        Penstock(needs=["durable_wait"])
    with Penstock(fresh_redis()) as app:
        app.need("leads")
        app.worker()
        app.need("leads", "transactions")
        with pytest.raises(EngineCannot, match="'transactions'"):
            app.worker()


@pytest.mark.parametrize(
    "url",
    [
        "redis://u:s3#cret@h/0", "redis://u:s3?cret@h/0", "redis://u:s3/cret@h/0", "redis://u:s3[cret@h/0",
        "redis://s3#cret@h/0", "redis://s3?cret@h/0", "redis://s3/cret@h/0", "redis+cluster://s3/cret@h",
        "redis://u:s3cret@h:port/0", "redis://u:s3cret@h:65536/0", "redis://u:s3cret@[h/0",
    ],
)  # fmt: skip
def test_an_address_that_cannot_be_read_is_refused_without_a_word_of_it(url: str) -> None:
    with pytest.raises(InvalidInput, match=r"^url: has a sign in the user or password") as refused:
        Penstock(url)
    assert refused.value.__context__ is None, "whose words are of the address"
    assert not {"s3", "cret"} & set(re.split(r"\W", str(refused.value)))


async def test_an_event_is_not_left_in_a_database_where_no_job_waits_for_it() -> None:
    async with Penstock("postgresql://127.0.0.1:1/x", jobs=fresh_redis()) as app:
        for connection in (None, object()):
            with pytest.raises(EngineCannot, match="snooze") as refused:
                app.emit("paid", connection=connection)
            assert refused.value.capability == "durable_waits"
            with pytest.raises(EngineCannot, match="snooze"):
                await app.aemit("paid", connection=connection)


async def test_a_queue_and_a_schedule_are_refused_too() -> None:
    async with Penstock(fresh_redis()) as app:
        app.queue("mail", max_running_per_key=1)
        with pytest.raises(EngineCannot, match="max_running_per_key") as refused:
            await app.worker().run()
        assert refused.value.capability == "key_limits"
        app.cron("* * * * *", catch_up="all")(app.job(kind="tick")(lambda: None))
        with pytest.raises(EngineCannot, match="tick") as refused:
            app.worker()
        assert refused.value.capability == "catch_up"


async def test_a_schedule_whose_jobs_count_against_a_quota_is_refused() -> None:
    async with Penstock(fresh_redis()) as app:
        app.job(kind="count", quota="pages")(lambda: None)
        with pytest.raises(EngineCannot, match="pages") as refused:
            await app.schedules.aset("counted", "* * * * *", "count", owner="ada")
        assert refused.value.capability == "quotas"
        await app.schedules.aset("counted", "* * * * *", "count")
        assert [each.name for each in await app.schedules.alist()] == ["counted"]


def test_what_takes_a_database_says_how_to_give_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("DATABASE_URL", raising=False)
    with Penstock(fresh_redis()) as app:
        for attempt in (lambda: app.database, app.asgi, lambda: app.artifacts.list()):
            with pytest.raises(EngineCannot, match=r"postgresql://|DATABASE_URL"):
                attempt()
    with Penstock("postgresql://127.0.0.1:1/x", jobs=fresh_redis()) as both:
        assert both.database is not both.engine


async def test_nothing_is_enqueued_of_what_is_refused() -> None:
    async with Penstock(fresh_redis()) as app:
        first = NewJob(kind="a")
        for job in (NewJob(kind="b", idempotency_key="k"), NewJob(kind="b", after=(first.id,), quota="x")):
            with pytest.raises(EngineCannot):
                await app.engine.aenqueue([first, job])
        flow = Flow()
        shared = flow.add(NewJob(kind="shared"))
        for kind in ("left", "right"):
            flow.add(NewJob(kind=kind), after=[shared])
        with pytest.raises(InvalidFlow, match="two jobs wait for 'shared'"):
            await app.engine.aenqueue(flow.jobs())
        assert (await app.jobs.alist()).jobs == []


async def test_a_handler_that_asks_for_what_is_missing_hears_what_to_do() -> None:
    async with Penstock(fresh_redis()) as app:

        @app.job(max_attempts=1)
        async def sleeps(ctx: Context) -> None:
            await ctx.sleep(60)

        job = await sleeps.aenqueue()
        async with working(app):
            with pytest.raises(JobFailed, match="snooze"):
                await job.aresult(timeout=20)


def test_every_refusal_names_a_capability() -> None:
    named = set()
    for path in Path(penstock.__file__).parent.rglob("*.py"):
        named |= set(re.findall(r'\b(?:EngineCannot|cannot)\(\s*"(\w+)"', path.read_text("utf-8")))
    assert named <= FIELDS
    assert named >= {"transactions", "catch_up", "quotas", "users"}
