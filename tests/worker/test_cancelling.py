"""Cancelling jobs that run: how soon they stop, and who may clean up."""

import asyncio
import os
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from penstock import Context, Flow, JobCancelled, JobHandle, JobState, Penstock, SyncContext
from penstock.engine.commands import ExtendLease
from penstock.engine.postgres.engine import PostgresEngine
from penstock.engine.postgres.listener import Notifications
from penstock.worker.executor import Executor
from tests.kit.until import soon, until
from tests.kit.working import working
from tests.worker import in_process

SOON = 20.0


async def cancel(handle: JobHandle[Any], within: float = 1.0) -> None:
    """Cancels a job, which must have ended so within a second; this machine may be busy with other things."""
    began = time.monotonic()
    assert await handle.acancel()
    with pytest.raises(JobCancelled, match="cancelled"):
        await handle.aresult(SOON)
    assert time.monotonic() - began < within
    assert (await handle.arefresh()).state is JobState.CANCELLED


async def test_an_async_handler_is_interrupted_and_cleans_up(app: Penstock) -> None:
    started, cleaned = asyncio.Event(), asyncio.Event()
    raised: list[BaseException] = []

    @app.job
    async def work(ctx: Context) -> None:
        started.set()
        try:
            await asyncio.Event().wait()
        except BaseException as error:
            raised.append(error)
            assert ctx.cancelled
            raise
        finally:
            await asyncio.sleep(0)
            cleaned.set()

    @app.job
    async def go_on() -> int:
        return 1

    async with working(app, {"default": 1}):
        handle = await work.aenqueue()
        await soon(started.wait())
        await cancel(handle)
        assert cleaned.is_set()
        assert await (await go_on.aenqueue()).aresult(SOON) == 1
    assert [type(error) for error in raised] == [asyncio.CancelledError]
    job = await handle.arefresh()
    assert (job.attempt, job.last_error) == (1, "cancelled")


def look(ctx: SyncContext) -> None:
    while not ctx.cancelled:
        time.sleep(0.002)


def report(ctx: SyncContext) -> None:
    while True:
        ctx.progress(50)
        time.sleep(0.002)


def ask(ctx: SyncContext) -> None:
    while True:
        ctx.stop_if_cancelled()
        time.sleep(0.002)


def take_steps(ctx: SyncContext) -> None:
    number = 0
    while True:
        ctx.step(f"step {number}", time.sleep, 0.01)
        number += 1


@pytest.mark.parametrize("notice", [report, ask, take_steps])
async def test_a_thread_ends_where_it_looks_up(app: Penstock, notice: Callable[[SyncContext], None]) -> None:
    started, cleaned = asyncio.Event(), threading.Event()
    loop = asyncio.get_running_loop()

    @app.job
    def work(ctx: SyncContext) -> None:
        loop.call_soon_threadsafe(started.set)
        try:
            notice(ctx)
        except Exception as error:  # must not catch it
            raise AssertionError from error
        finally:
            cleaned.set()

    async with working(app, {"default": 1}):
        handle = await work.aenqueue()
        await soon(started.wait())
        await cancel(handle)
        assert cleaned.is_set()


async def test_a_thread_that_sees_it_and_returns_has_done_its_job(app: Penstock) -> None:
    started = asyncio.Event()
    loop = asyncio.get_running_loop()

    @app.job
    def work(ctx: SyncContext) -> str:
        loop.call_soon_threadsafe(started.set)
        look(ctx)
        return "as far as it came"

    async with working(app, {"default": 1}):
        handle = await work.aenqueue()
        await soon(started.wait())
        await handle.acancel()
        assert await handle.aresult(SOON) == "as far as it came"


async def test_a_process_is_interrupted_and_cleans_up(app: Penstock, tmp_path: Path) -> None:
    tell = app.job(isolate=True)(in_process.tell_process)
    handlers = [
        app.job(isolate=True)(in_process.sleep_with_clean_up),
        app.job(isolate=True)(in_process.sleep_with_clean_up_async),
    ]
    async with working(app, {"default": 1}):
        for number, handler in enumerate(handlers):
            await (await tell.aenqueue()).aresult(SOON)
            started, cleaned = tmp_path / f"{number}.started", tmp_path / f"{number}.cleaned"
            handle = await handler.aenqueue(started, cleaned)
            await until(lambda started=started: _exists(started))  # type: ignore[misc]
            await cancel(handle)
            assert cleaned.exists()
            with pytest.raises(ProcessLookupError):
                os.kill(int(started.read_text()), 0)


async def test_a_process_that_refuses_to_stop_is_killed(app: Penstock, tmp_path: Path) -> None:
    handler = app.job(isolate=True)(in_process.refuse_to_stop)
    started = tmp_path / "started"
    async with working(app, {"default": 1}):
        handle = await handler.aenqueue(started)
        await until(lambda: _exists(started))
        await cancel(handle, within=1.5)
        with pytest.raises(ProcessLookupError):
            os.kill(int(started.read_text()), 0)


async def _exists(path: Path) -> bool:
    return path.exists()  # noqa: ASYNC240 - a look at a folder of its own


async def test_a_job_cancelled_while_it_waits_for_a_slot_never_runs(app: Penstock) -> None:
    ran: list[int] = []
    go = asyncio.Event()
    started = asyncio.Event()

    @app.job
    async def work(number: int) -> None:
        ran.append(number)
        if number == 200:
            started.set()
            await go.wait()

    # quick ones, so that the worker takes many at a time, then one that holds the only slot
    handles = await work.aenqueue_many([{"number": number} for number in range(400)])
    async with working(app, {"default": 1}) as worker:
        await soon(started.wait())
        in_hand = {run.job.id for run in worker.runs if not run.begun}
        waiting = [handle for handle in handles if handle.id in in_hand]
        assert waiting, "the worker has none in hand that waits"
        await cancel(waiting[0])
        go.set()
        for handle in handles[-3:]:
            if handle.id != waiting[0].id:
                await handle.aresult(SOON)
    place = [handle.id for handle in handles].index(waiting[0].id)
    assert sorted(ran) == sorted(set(range(400)) - {place})


async def test_a_job_cancelled_in_the_moment_it_starts_never_runs_and_its_slot_is_free(
    app: Penstock, monkeypatch: pytest.MonkeyPatch
) -> None:
    ran: list[str] = []

    @app.job
    async def work(name: str) -> None:
        ran.append(name)

    take = Executor.take

    def take_and_cancel(executor: Executor, lane: Any, lease: Any, jobs: Any) -> None:
        take(executor, lane, lease, jobs)
        for job in jobs:
            if "first" in job.args:
                executor.cancel(job.id)

    monkeypatch.setattr(Executor, "take", take_and_cancel)
    async with working(app, {"default": 1}):
        handle = await work.aenqueue("first")
        with pytest.raises(JobCancelled):
            await handle.aresult(SOON)
        await (await work.aenqueue("second")).aresult(SOON)
    assert ran == ["second"]


async def test_cancelling_a_flow_stops_its_running_children(app: Penstock) -> None:
    started = asyncio.Semaphore(0)
    cleaned: list[int] = []

    @app.job
    async def part(number: int) -> None:
        started.release()
        try:
            await asyncio.Event().wait()
        finally:
            cleaned.append(number)

    @app.job
    async def last() -> None: ...

    flow = Flow(then=last.prepare())
    for number in range(3):
        flow.add(part.prepare(number))
    async with working(app):
        handle = await app.aenqueue(flow)
        for _ in range(3):
            await soon(started.acquire())
        await cancel(handle)
    assert sorted(cleaned) == [0, 1, 2]
    assert {job.state for job in (await app.jobs.alist(parent=handle.id)).jobs} == {JobState.CANCELLED}


@pytest.mark.parametrize("settled", [False, True], ids=["at once", "after a while"])
async def test_without_notifications_it_stops_within_about_a_second(
    app: Penstock, monkeypatch: pytest.MonkeyPatch, settled: bool
) -> None:
    async def hears_nothing(*_: object) -> bool:
        return False

    monkeypatch.setattr(Notifications, "_hears", hears_nothing)
    started, extended = asyncio.Event(), 0
    arun = PostgresEngine.arun

    async def counting(engine: PostgresEngine, call: Any) -> Any:
        nonlocal extended
        answer = await arun(engine, call)
        extended += isinstance(call, ExtendLease)
        return answer

    monkeypatch.setattr(PostgresEngine, "arun", counting)

    @app.job
    async def work() -> None:
        started.set()
        await asyncio.Event().wait()

    async with working(app):
        if settled:
            # when it opened the lease, and when it began to keep it: it has nothing to keep it for, and pauses
            await until(lambda: extended >= 2)
        handle = await work.aenqueue()
        await soon(started.wait())
        await cancel(handle, within=2.0)
