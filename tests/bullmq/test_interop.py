"""Node's BullMQ and ours on the same queue, in both directions: what one adds the other finishes."""

import asyncio
import os
import signal
import sys
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from penstock import Backoff, Context, Flow, JobState, Penstock
from penstock.engine.bullmq.engine import BullmqEngine
from penstock.engine.bullmq.names import uuid_of
from tests.bullmq.peer import node
from tests.kit.node import run
from tests.kit.redis import fresh_redis, redis_server
from tests.kit.until import soon, until
from tests.kit.working import working
from tests.run_document import blocks


@pytest.fixture
def url() -> str:
    return fresh_redis()


@pytest.fixture
async def app(url: str) -> AsyncIterator[Penstock]:
    async with Penstock(url) as app:
        yield app


GUIDE = Path(__file__).parents[2] / "docs" / "guides" / "bullmq.md"
UNTIL_SENT = """
console.log(await new Promise((tell) => worker.on("completed", (_, said) => tell(said))));
await Promise.all([worker.close(), queue.close()]);
"""


async def test_the_guide_s_queue_and_worker_of_node_s_run(tmp_path: Path) -> None:
    [code] = [block.code for block in blocks(GUIDE) if block.title == "mail.mjs"]
    script = tmp_path / "of the guide" / "mail.mjs"
    script.parent.mkdir()
    script.write_text(code + UNTIL_SENT)
    assert await run(script, tmp_path, REDIS_URL=redis_server()) == "sent to ada@example.com\n"


async def test_a_node_worker_finishes_what_python_enqueued(app: Penstock, url: str, tmp_path: Path) -> None:
    @app.job
    async def double(n: int) -> int: ...  # type: ignore[empty-body]

    @app.job(max_attempts=3, backoff=Backoff.constant(0.05))
    async def shaky() -> int: ...  # type: ignore[empty-body]

    @app.job
    async def reports() -> str: ...  # type: ignore[empty-body]

    @app.job
    async def sums() -> int: ...  # type: ignore[empty-body]

    flow = Flow(then=sums.prepare())
    for n in (1, 2, 3):
        flow.add(double.prepare(n))
    later = await double.using(delay=0.3).aenqueue(21)
    first, again, said, total = (
        await double.aenqueue(4), await shaky.aenqueue(), await reports.aenqueue(), await app.aenqueue(flow),
    )  # fmt: skip
    async with node(url, tmp_path) as peer:
        assert await peer.ask("work") == "working"
        assert (await first.aresult(timeout=20), await later.aresult(timeout=20)) == (8, 42)
        assert await total.aresult(timeout=20) == 12
        assert await again.aresult(timeout=20) == 1
        assert await said.aresult(timeout=20) == "reported"
    tried, waited = await again.arefresh(), await later.arefresh()
    assert (tried.attempt, (await said.arefresh()).progress) == (2, {"percent": 50, "message": "half"})
    assert waited.started_at is not None
    assert (waited.started_at - waited.created_at).total_seconds() >= 0.29


async def test_python_finishes_what_node_added(app: Penstock, url: str, tmp_path: Path) -> None:
    @app.job
    async def double(ctx: Context, n: int) -> int:
        await ctx.progress(50, "half")
        return 2 * n

    @app.job
    async def shaky(ctx: Context) -> str:
        if ctx.job.attempt < 3:
            raise RuntimeError("not yet")
        return f"attempt {ctx.job.attempt}"

    @app.job
    async def fails() -> None:
        raise RuntimeError("never")

    @app.job
    async def sums(ctx: Context) -> int:
        return sum(each.output for each in await ctx.outputs())

    jobs = [
        {"name": "double", "data": {"n": 4}},
        {"name": "shaky", "data": None, "opts": {"attempts": 3, "backoff": {"type": "fixed", "delay": 50}}},
        {"name": "fails", "data": {}, "opts": {"delay": 300}},
    ]
    tree = {"name": "sums", "children": [{"name": "double", "data": {"n": n}} for n in (1, 2)]}
    async with node(url, tmp_path) as peer, working(app):
        told = await peer.ask("add", jobs=jobs)
        assert await peer.ask("flow", tree=tree) == 6
    assert (told["double"]["output"], told["double"]["progress"]) == (8, {"percent": 50, "message": "half"})
    assert (told["shaky"]["output"], told["shaky"]["attemptsMade"]) == ("attempt 3", 3)
    assert told["fails"]["output"] == {"failed": "never"}
    assert told["fails"]["waited"] >= 300
    [foreign] = (await app.jobs.alist(kind="shaky")).jobs
    assert (foreign.state, foreign.id.version) == (JobState.SUCCEEDED, 5)
    assert (await app.handle(foreign.id).arefresh()).output == "attempt 3", "found by the id that stands for it"


async def test_a_node_worker_that_is_killed_loses_nothing(app: Penstock, url: str, tmp_path: Path) -> None:
    @app.job
    async def hangs() -> str:
        return "done here"

    job = await hangs.aenqueue()
    async with node(url, tmp_path) as peer:
        await peer.ask("work", lock=500)
        assert (await peer.hear())["started"] == str(job.id)
        os.kill(peer.process.pid, signal.SIGKILL)
        async with working(app, lease=0.5):
            assert await job.aresult(timeout=30) == "done here"
    assert (await job.arefresh()).attempt == 2, "the one that was lost counts"


_PROGRAM = """
import asyncio, sys
from penstock import Penstock
app = Penstock(sys.argv[1])

@app.job
async def double(n: int) -> int:
    print("started", flush=True)
    await asyncio.Event().wait()

asyncio.run(app.run_worker(lease=0.5))
"""


async def test_a_python_worker_that_is_killed_loses_nothing(app: Penstock, url: str, tmp_path: Path) -> None:
    @app.job
    async def double(n: int) -> int: ...  # type: ignore[empty-body]

    job = await double.aenqueue(4)
    program: Any = await asyncio.create_subprocess_exec(
        sys.executable, "-c", _PROGRAM, url, stdout=asyncio.subprocess.PIPE
    )
    assert await soon(program.stdout.readline()) == b"started\n"
    async with node(url, tmp_path) as peer:
        program.kill()
        await program.wait()
        await peer.ask("work", lock=500)
        assert await job.aresult(timeout=30) == 8
    await until(lambda: program.returncode is not None)


async def test_both_sides_run_jobs_in_the_same_order_of_priority(app: Penstock, url: str, tmp_path: Path) -> None:
    ran: list[str] = []

    @app.job
    async def note(name: str) -> None:
        ran.append(name)

    theirs = {"last": {"priority": 2**21 - 1}, "theirs first": {"priority": 1}, "none": {}}
    order = ["none", "theirs first", "high", "usual", "low", "lowest", "last"]

    async def add() -> None:
        for name, priority in (("lowest", -(2**31)), ("low", -5), ("usual", 0), ("high", 5)):
            await note.using(priority=priority).aenqueue(name)
        jobs = [{"name": "note", "data": {"name": name}, "opts": opts} for name, opts in theirs.items()]
        await peer.ask("put", jobs=jobs)
        assert await peer.ask("waiting") == order

    async with node(url, tmp_path) as peer:
        await add()
        async with working(app, {"default": 1}):
            await until(lambda: len(ran) == len(order))
        assert ran == order
        await add()
        await peer.ask("work", concurrency=1)
        assert await until(lambda: peer.ask("ran"), so=lambda there: len(there) == len(order)) == order


async def test_a_unique_key_is_the_same_on_both_sides(app: Penstock, url: str, tmp_path: Path) -> None:
    ran: list[str] = []

    @app.job
    async def note(name: str) -> None:
        ran.append(name)

    async with node(url, tmp_path) as peer:

        async def put(*unique: str, **opts: Any) -> str:
            job = {"name": "note", "data": {"name": "theirs"}, "unique": unique or None, "opts": opts}
            [id] = await peer.ask("put", jobs=[job])
            return str(id)

        key = 'é "/\\\u2028\x1f\n\U0001f600'
        ours = await note.using(unique=key, owner="ada", org="acme").aenqueue("ours")
        assert await put("note", "ada", "acme", key) == str(ours.id)
        others = [await put("note", *whose, key) for whose in (("bob", "acme"), ("ada", ""), ("", "acme"))]
        others.append(await put("other", "ada", "acme", key))
        assert len({str(ours.id), *others}) == 5, "tenants never meet in a key, nor do kinds"

        theirs = await put("note", "", "", "k")
        same = await note.using(unique="k").aenqueue("ours")
        assert (same.created, same.id) == (False, uuid_of("default", theirs))
        assert (await same.arefresh()).args == {"name": "theirs"}

        own = {"deduplication": {"id": "k"}}
        for_a_while = {"deduplication": {"id": "for a while", "ttl": 60_000}}
        first, lasting = await put(**own), await put(**for_a_while)
        assert first != theirs, "an id of Node's own is no key of ours"
        assert await put(**own) == first
        async with working(app):
            await until(lambda: len(ran) == 8)
        assert await put(**own) != first, "it has ended"
        assert await put(**for_a_while) == lasting
        assert await put("note", "ada", "acme", key) != str(ours.id)


async def test_a_schedule_goes_on_whoever_takes_its_job(app: Penstock, url: str, tmp_path: Path) -> None:
    ran: list[str] = []

    @app.job
    async def note(name: str) -> None:
        ran.append(name)

    yearly = "0 12 1 7 *"
    await app.schedules.aset("ours", yearly, "note", {"name": "ours"}, owner="ada", priority=5)
    first, second = [int(tick.timestamp() * 1000) for tick in await app.schedules.anext_runs("ours", 2)]
    async with node(url, tmp_path) as peer:
        theirs = {"name": "note", "data": {"name": "theirs"}}
        await peer.ask("schedule", name="theirs", repeat={"pattern": yearly, "tz": "UTC"}, template=theirs)
        await peer.ask("schedule", name="hourly", repeat={"every": 3_600_000}, template=theirs)
        before = await peer.ask("schedules")
        assert (before["ours"], before["theirs"]) == ([first, 1], [first, 1])
        await peer.ask("promote", name="theirs")
        async with working(app):
            await until(lambda: ran == ["theirs"] * 2)
        after = await peer.ask("schedules")
        assert after == {"ours": [first, 1], "theirs": [second, 1], "hourly": [before["hourly"][0] + 3_600_000, 1]}
        await peer.ask("promote", name="ours")
        await peer.ask("work")
        assert await until(lambda: peer.ask("ran")) == ["ours"]
        assert await peer.ask("schedules") == after | {"ours": [second, 1]}
    [schedule] = await app.schedules.alist()
    assert schedule.next_tick is not None
    assert schedule.next_tick.timestamp() * 1000 == second
    [following] = (await app.jobs.alist(owner="ada", state=JobState.SCHEDULED)).jobs
    assert (following.priority, following.args) == (5, {"name": "ours"}), "what we said of it went through Node"


async def test_a_job_that_no_worker_here_has_had_is_found_and_changed_by_its_id(app: Penstock) -> None:
    engine = app.engine
    assert isinstance(engine, BullmqEngine)
    await engine.session().queue("default").add("work", {})
    [seen] = (await app.jobs.alist(queue="default")).jobs
    job = app.handle(seen.id)
    assert await job.acancel()
    assert (await job.arefresh()).state is JobState.CANCELLED
    assert await job.aretry()
    assert (await job.arefresh()).state is JobState.READY
