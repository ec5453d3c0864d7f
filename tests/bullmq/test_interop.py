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
from tests.bullmq.peer import node
from tests.kit.redis import fresh_redis
from tests.kit.until import soon, until
from tests.kit.working import working


@pytest.fixture
def url() -> str:
    return fresh_redis()


@pytest.fixture
async def app(url: str) -> AsyncIterator[Penstock]:
    async with Penstock(url) as app:
        yield app


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
