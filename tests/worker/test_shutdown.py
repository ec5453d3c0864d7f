"""Stopping a worker: what runs may finish, the rest goes back at no cost, and nothing is left behind."""

import asyncio
import threading
from collections.abc import Iterator
from contextlib import suppress
from typing import Any

import pytest

from penstock import Context, JobState, Penstock, SyncContext
from penstock.engine import commands
from tests.kit.fixtures import Connect
from tests.kit.until import soon, until
from tests.kit.working import working


class Gate:
    """A handler says that it came, and goes on when the test lets it."""

    def __init__(self) -> None:
        self.came = asyncio.Event()
        self.open = asyncio.Event()
        self.passed = 0

    async def __call__(self) -> None:
        self.came.set()
        await self.open.wait()
        self.passed += 1


@pytest.fixture
def gate() -> Gate:
    return Gate()


@pytest.fixture
def released() -> Iterator[threading.Event]:
    """Set when the test is over, for handlers in threads, which nobody can end."""
    event = threading.Event()
    yield event
    event.set()


async def test_stopping_lets_running_jobs_finish_and_claims_no_more(
    app: Penstock, gate: Gate, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("INFO", "penstock.worker")

    @app.job
    async def work() -> str:
        await gate()
        return "done"

    first = await work.aenqueue()
    async with working(app) as worker:
        await soon(gate.came.wait())
        worker.stop()

        await until(lambda: "stopping: 1 job has 30 s to finish" in caplog.text)
        second = await work.aenqueue()
        for _ in range(20):
            assert (await second.arefresh()).state is JobState.READY
        assert not gate.passed
        gate.open.set()
    assert await first.aresult(5) == "done"
    assert (await second.arefresh()).state is JobState.READY
    assert worker.finished_in_time


async def test_what_outlasts_the_grace_is_given_back_at_no_cost_of_an_attempt(app: Penstock, gate: Gate) -> None:
    cleaned_up = asyncio.Event()

    @app.job
    async def work(ctx: Context) -> None:
        try:
            await gate()
        finally:
            assert ctx.cancelled
            cleaned_up.set()

    job = await work.aenqueue()
    async with working(app, grace=0.05) as worker:
        await soon(gate.came.wait())
        worker.stop()
    assert cleaned_up.is_set()
    assert not worker.finished_in_time
    record = await job.arefresh()
    assert (record.state, record.attempt, record.errors) == (JobState.READY, 0, [])


async def test_a_thread_that_outlasts_the_grace_is_told_and_left_to_itself(
    app: Penstock, released: threading.Event
) -> None:
    loop = asyncio.get_running_loop()
    came, told = asyncio.Event(), threading.Event()

    @app.job
    def work(ctx: SyncContext) -> None:
        loop.call_soon_threadsafe(came.set)
        while not ctx.cancelled and not released.wait(0.005):
            pass
        told.set()
        released.wait()

    job = await work.aenqueue()
    async with working(app, grace=0.05) as worker:
        await soon(came.wait())
        worker.stop()
    assert told.wait(5)
    record = await job.arefresh()
    assert (record.state, record.attempt, record.errors) == (JobState.READY, 0, [])


async def test_jobs_that_were_claimed_and_not_started_are_given_back_at_once(app: Penstock, gate: Gate) -> None:
    @app.job(batch=10)
    async def many(items: list[int]) -> None: ...

    @app.job
    async def work() -> None:
        await gate()

    jobs = await app.aenqueue_many(work.prepare() for _ in range(10))
    # a slot takes a batch: nine jobs of another kind wait for it in the worker's hands
    async with working(app, {"default": 1}) as worker:
        await soon(gate.came.wait())
        states = [(await job.arefresh()).state for job in jobs]
        assert states == [JobState.RUNNING] * 10
        worker.stop()

        async def nine_are_back() -> bool:
            records = [await job.arefresh() for job in jobs]
            return [(each.state, each.attempt) for each in records[1:]] == [(JobState.READY, 0)] * 9

        await until(nine_are_back)
        assert (await jobs[0].arefresh()).state is JobState.RUNNING
        gate.open.set()
    assert (await jobs[0].arefresh()).state is JobState.SUCCEEDED


async def test_what_a_claim_took_while_the_worker_was_stopped_is_given_back_at_once(
    app: Penstock, gate: Gate, connect: Connect, monkeypatch: pytest.MonkeyPatch
) -> None:
    @app.job
    async def work() -> None:
        await gate()

    first = await work.aenqueue()
    async with working(app) as worker:
        await soon(gate.came.wait())
        engine = worker.engine
        arun, looking, claimed = engine.arun, asyncio.Event(), asyncio.Event()

        async def without_an_answer(call: Any) -> Any:
            if isinstance(call, commands.Claim):
                looking.set()
            result = await arun(call)
            if isinstance(call, commands.Claim) and result:
                claimed.set()
                await asyncio.Event().wait()
            return result

        monkeypatch.setattr(engine, "arun", without_an_answer)
        connect().execute("select pg_notify((select wake from penstock.channels), %s)", [str(worker.lease)])
        await soon(looking.wait())
        # two at once: one would be handed to the worker, not claimed
        [second, _] = await work.aenqueue_many([{}, {}])
        await soon(claimed.wait())
        assert (await second.arefresh()).state is JobState.RUNNING
        worker.stop()

        async def is_back() -> bool:
            record = await second.arefresh()
            return (record.state, record.attempt) == (JobState.READY, 0)

        await until(is_back)
        assert (await first.arefresh()).state is JobState.RUNNING
        gate.open.set()


async def test_a_second_stop_ends_at_once(app: Penstock, gate: Gate) -> None:
    @app.job
    async def work() -> None:
        await gate()

    job = await work.aenqueue()
    async with asyncio.timeout(20), working(app, grace=600) as worker:
        await soon(gate.came.wait())
        worker.stop()
        await (await work.aenqueue()).arefresh()  # it is waiting for the job by now
        worker.stop()
    record = await job.arefresh()
    assert (record.state, record.attempt) == (JobState.READY, 0)
    assert not worker.finished_in_time


async def test_a_worker_that_is_stopped_before_it_runs_takes_nothing(app: Penstock, connect: Connect) -> None:
    @app.job
    async def work() -> None: ...

    job = await work.aenqueue()
    worker = app.worker()
    worker.stop()
    await soon(worker.run())
    assert (await job.arefresh()).state is JobState.READY
    watch = connect()
    assert watch.execute("select claims from penstock.jobs").fetchone() == (0,)
    assert watch.execute("select count(*) from penstock.leases").fetchone() == (0,)


async def test_cancelling_the_task_of_a_worker_stops_it_gracefully(app: Penstock, gate: Gate, connect: Connect) -> None:
    @app.job
    async def work() -> None:
        await gate()

    job = await work.aenqueue()
    running = asyncio.create_task(app.run_worker())
    await soon(gate.came.wait())
    running.cancel()
    second = await work.aenqueue()
    assert (await job.arefresh()).state is JobState.RUNNING
    gate.open.set()
    with pytest.raises(asyncio.CancelledError):
        await soon(running)
    assert (await job.arefresh()).state is JobState.SUCCEEDED
    assert (await second.arefresh()).state is JobState.READY
    assert connect().execute("select count(*) from penstock.leases").fetchone() == (0,)


@pytest.mark.parametrize("again", ["cancel", "stop"])
async def test_a_cancelled_worker_that_is_cancelled_or_stopped_again_ends_at_once(
    app: Penstock, gate: Gate, again: str
) -> None:
    @app.job
    async def work() -> None:
        await gate()

    job = await work.aenqueue()
    worker = app.worker(grace=600)
    running = asyncio.create_task(worker.run())
    await soon(gate.came.wait())
    running.cancel()
    assert (await job.arefresh()).state is JobState.RUNNING
    if again == "cancel":
        running.cancel()
    else:
        worker.stop()
    with pytest.raises(asyncio.CancelledError):
        await soon(running)
    record = await job.arefresh()
    assert (record.state, record.attempt) == (JobState.READY, 0)


@pytest.mark.parametrize("how", ["idle", "busy", "given up", "cancelled"])
async def test_a_worker_leaves_nothing_behind(app: Penstock, gate: Gate, connect: Connect, how: str) -> None:
    @app.job
    async def work() -> None:
        await gate()

    @app.job(queue="threads")
    def in_thread() -> None: ...

    watch = connect()
    tasks = asyncio.all_tasks()
    worker = app.worker({"default": 2, "threads": 2}, grace=0.05 if how == "given up" else 30)
    running = asyncio.create_task(worker.run())
    await soon(worker.ready.wait())
    await (await in_thread.aenqueue()).aresult(10)
    if how != "idle":
        await work.aenqueue()
        await soon(gate.came.wait())
    if how != "given up":
        gate.open.set()
    if how == "cancelled":
        running.cancel()
    else:
        worker.stop()
    with suppress(asyncio.CancelledError):
        await soon(running)
    running = asyncio.current_task() or running

    assert asyncio.all_tasks() == tasks
    for table in ("leases", "waiting"):
        assert watch.execute(f"select count(*) from penstock.{table}".encode()).fetchone() == (0,)
    await app.engine.aclose()

    async def gone() -> bool:
        others = "select count(*) from pg_stat_activity where datname = current_database() and pid <> pg_backend_pid()"
        return watch.execute(others).fetchone() == (0,)

    await until(gone, within=5)  # a backend ends a moment after its client
