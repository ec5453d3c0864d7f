"""What runs beside a wait: steps may, waits may not, and whichever way it is tried, the handler is told what to do
instead of waiting for the wrong thing or for nothing."""

import asyncio
import re
import threading
from collections.abc import Awaitable, Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from penstock import Context, Penstock, PenstockError, SyncContext
from penstock.job import JobState
from penstock.testing import adrain, run_inline
from tests.worker import in_process


async def by_gather(ctx: Context) -> None:
    await asyncio.gather(ctx.wait_for("a"), ctx.wait_for("b"))


async def by_a_step_and_a_wait(ctx: Context) -> None:
    await asyncio.gather(ctx.step("one", str, 1), ctx.sleep(60))


async def by_a_task(ctx: Context) -> None:
    done, _ = await asyncio.wait([asyncio.create_task(ctx.wait_for("a"))], return_when=asyncio.FIRST_COMPLETED)
    await done.pop()


async def by_asyncios_wait_for(ctx: Context) -> None:
    await asyncio.wait_for(ctx.wait_for("a"), timeout=3600)


async def by_a_step_that_still_runs(ctx: Context) -> None:
    begun, ended = asyncio.Event(), asyncio.Event()

    async def work() -> None:
        begun.set()
        await ended.wait()

    task = asyncio.create_task(ctx.step("work", work))
    await begun.wait()
    try:
        await ctx.approve("Go on?")
    finally:
        ended.set()
        await task


async def by_a_step_that_waits(ctx: Context) -> None:
    await ctx.step("outer", lambda: ctx.sleep(60))


WAYS = [
    by_gather,
    by_a_step_and_a_wait,
    by_a_task,
    by_asyncios_wait_for,
    by_a_step_that_still_runs,
    by_a_step_that_waits,
]
BESIDE = "a handler (waits by itself, for one thing at a time|cannot wait while one of its steps or waits is under way)"


async def failure_of(app: Penstock, handler: Any) -> str:
    handle = await handler.aenqueue()
    await adrain(app)
    job = await app.jobs.aget(handle.id)
    assert job is not None
    assert job.state is JobState.FAILED, job
    told: str = job.errors[-1]["error"]
    return told


async def test_a_wait_that_is_not_the_handlers_own_is_refused_before_it_is_written(app: Penstock) -> None:
    for way in WAYS:

        @app.job(kind=way.__name__, max_attempts=1)
        async def wait(ctx: Context, way: str) -> None:
            await next(each for each in WAYS if each.__name__ == way)(ctx)

        handle = await wait.aenqueue(way.__name__)
        await adrain(app)
        job = await app.jobs.aget(handle.id)
        assert job is not None
        # failed, and nothing waits: it would, for what its handler no longer asks for
        assert job.state is JobState.FAILED, way
        assert re.search(BESIDE, job.errors[-1]["error"]), way


async def test_in_a_process_and_inline_what_is_done_in_a_task_is_refused_though_the_runner_is_below_the_loop(
    app: Penstock,
) -> None:
    wait = app.job(isolate=True, max_attempts=1)(in_process.wait_in_a_task)
    assert re.search(BESIDE, await failure_of(app, wait))
    with pytest.raises(PenstockError, match=BESIDE):
        await asyncio.to_thread(run_inline, wait)
    take = app.job(isolate=True, max_attempts=1)(in_process.take_in_tasks)
    assert "uuid() is told apart from others of its kind by its order" in await failure_of(app, take)


async def test_waits_below_the_handler_are_its_own_and_so_are_those_under_a_middleware(app: Penstock) -> None:
    @app.middleware
    async def limit(ctx: object, call_next: Callable[[], Awaitable[Any]]) -> Any:
        return await asyncio.wait_for(call_next(), timeout=60)

    async def below(ctx: Context) -> object:
        async with asyncio.timeout(60):
            return await ctx.wait_for("a")

    @app.job
    async def wait(ctx: Context) -> object:
        return await below(ctx)

    handle = await wait.aenqueue()
    await adrain(app)
    await app.aemit("a", payload=7)
    await adrain(app)
    assert await handle.aresult(20) == 7


async def test_threads_of_a_sync_handler_wait_one_at_a_time_too(app: Penstock) -> None:
    @app.job(max_attempts=1)
    def wait(ctx: SyncContext) -> None:
        begun, ended = threading.Event(), threading.Event()

        def work() -> bool:
            begun.set()
            return ended.wait(20)

        with ThreadPoolExecutor() as threads:
            step = threads.submit(ctx.step, "work", work)
            begun.wait(20)
            try:
                ctx.sleep(60)
            finally:
                ended.set()
                step.result()

    assert re.search(BESIDE, await failure_of(app, wait))


async def test_steps_beside_each_other_are_remembered_by_name_in_whichever_order_they_end(app: Penstock) -> None:
    taken: list[str] = []
    late = asyncio.Event()

    async def first() -> str:
        await late.wait()
        taken.append("first")
        return "first"

    async def second() -> str:
        taken.append("second")
        late.set()
        return "second"

    @app.job
    async def work(ctx: Context) -> list[str]:
        both = await asyncio.gather(ctx.step("first", first), ctx.step("second", second))
        await ctx.sleep(0)
        return list(both)

    handle = await work.aenqueue()
    await adrain(app)
    assert await handle.aresult(20) == ["first", "second"]
    assert taken == ["second", "first"]


@pytest.mark.parametrize("beside", [False, True])
async def test_two_steps_of_one_name_are_refused_where_one_that_failed_may_be_taken_again(
    app: Penstock, beside: bool
) -> None:
    tries: list[int] = []

    def fail_once() -> int:
        tries.append(1)
        if len(tries) == 1:
            raise ConnectionError
        return len(tries)

    @app.job(max_attempts=1)
    async def work(ctx: Context) -> None:
        for _ in range(2):
            try:
                await ctx.step("fetch", fail_once)
                break
            except ConnectionError:
                continue
        assert len(tries) == 2
        steps = [ctx.step("same", str, "a"), ctx.step("same", str, "b")]
        if beside:
            await asyncio.gather(*steps)
        for step in steps:
            await step

    assert "two steps are called 'same'" in await failure_of(app, work)


async def test_a_run_that_is_cancelled_while_it_is_suspended_has_ended(app: Penstock) -> None:
    """A time of asyncio's that is over in that moment leaves no handler that goes on without its job."""
    went_on = False

    @app.job
    async def wait(ctx: Context) -> None:
        nonlocal went_on
        try:
            async with asyncio.timeout(0):
                await ctx.wait_for("never")
        except TimeoutError:
            went_on = True

    handle = await wait.aenqueue()
    await adrain(app)
    job = await app.jobs.aget(handle.id)
    assert job is not None
    assert (job.state, went_on) == (JobState.BLOCKED, False)
