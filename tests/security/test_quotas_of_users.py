"""A user who asks for more at once than they may has no more than that: not running, and not stored."""

import asyncio
from pathlib import Path

from penstock import Context, Penstock
from penstock.server import ServerSettings
from penstock.testing import adrain
from tests.kit.until import soon, until
from tests.kit.working import working
from tests.server.api import Api, Asking, asking


async def test_a_batch_of_ten_runs_one_by_one(app: Penstock, api: Api, alice: Asking, bob: Asking) -> None:
    app.quota("slow", running=1)
    running = 0
    seen: dict[str, int] = {"alice": 0, "bob": 0}
    others_ran, go_on = asyncio.Event(), asyncio.Event()

    @app.job(users=True, quota="slow")
    async def work(ctx: Context, whose: str) -> None:
        nonlocal running
        seen[whose] += 1
        if whose == "bob":
            others_ran.set()
            return
        running += 1
        assert running == 1, "the others wait for their turn"
        await go_on.wait()
        running -= 1

    jobs = [{"kind": "work", "args": {"whose": "alice"}}] * 10
    answer = await alice.post("/api/jobs/batch", {"jobs": jobs})
    assert answer.status_code == 202, answer.text
    async with working(app, {"default": 20}):
        await until(lambda: running == 1)
        await bob.start("work", whose="bob")  # behind all of hers, and not held up by them
        await soon(others_ran.wait())
        assert seen == {"alice": 1, "bob": 1}
        go_on.set()
        ended = await until(lambda: _ended(alice, answer.json()["id"]), so=lambda told: told["state"] != "blocked")
    assert (ended["state"], seen["alice"]) == ("succeeded", 10)


async def _ended(asked: Asking, job: str) -> dict[str, str]:
    told: dict[str, str] = (await asked.get(f"/api/jobs/{job}")).json()
    return told


async def test_an_artifact_beyond_the_storage_is_not_kept(url: str, tmp_path: Path, settings: ServerSettings) -> None:
    async with Penstock(url, artifacts=tmp_path / "files") as app, asking(app, settings) as api:
        app.quota("files", storage=1000)

        @app.job(users=True, quota="files", max_attempts=1)
        async def keep(ctx: Context, size: int) -> None:
            await ctx.artifacts.put("file.bin", b"x" * size)

        alice, bob = api.user("alice"), api.user("bob")
        sizes = {size: await alice.start("keep", size=size) for size in (900, 5_000_000, 101, 100)}
        theirs = await bob.start("keep", size=1000)
        await adrain(app)
        states = {size: (await alice.get(f"/api/jobs/{job}")).json() for size, job in sizes.items()}
        assert {size: told["state"] for size, told in states.items()} == {
            900: "succeeded", 5_000_000: "failed", 101: "failed", 100: "succeeded",
        }  # fmt: skip
        assert "storage" in states[5_000_000]["error"] or "900 of 1000 bytes" in states[5_000_000]["error"]
        assert (await bob.get(f"/api/jobs/{theirs}")).json()["state"] == "succeeded"
        kept = sorted(path.stat().st_size for path in (tmp_path / "files").rglob("file.bin"))
        assert kept == [100, 900, 1000]
        assert (await alice.post("/api/jobs", {"kind": "keep", "args": {"size": 1}})).status_code == 507
