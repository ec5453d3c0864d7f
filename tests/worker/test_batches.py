"""Batch handlers: one call for many jobs, an ending for each of them."""

import asyncio
import threading
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from typing import Any

import pytest

from penstock import (
    Backoff,
    CallFailed,
    Context,
    Fail,
    InvalidInput,
    Job,
    JobCancelled,
    JobFailed,
    JobHandle,
    JobState,
    Penstock,
    Snooze,
)
from penstock.testing import arun_inline
from tests.kit.until import until
from tests.kit.working import working

SOON = 20.0
AT_ONCE = Backoff.constant(0)


def numbers(count: int) -> list[dict[str, int]]:
    return [{"numbers": number} for number in range(count)]


async def until_ended(handles: Sequence[JobHandle[Any]]) -> list[Job]:
    """Looks, and asks to be told of none: whoever does holds the job's row for a moment, and a claim that meets it
    there takes the others without it."""

    async def ended() -> list[Job] | None:
        jobs = [await handle.arefresh() for handle in handles]
        return jobs if all(job.state.final for job in jobs) else None

    jobs = await until(ended)
    assert jobs is not None
    return jobs


@pytest.mark.parametrize("sync", [False, True], ids=["async", "sync"])
async def test_many_jobs_take_few_calls_and_no_call_more_than_its_size(app: Penstock, sync: bool) -> None:
    calls: list[list[int]] = []

    def double(numbers: list[int]) -> list[int]:
        calls.append(list(numbers))
        assert sync is (threading.current_thread() is not threading.main_thread())
        return [2 * number for number in numbers]

    async def double_async(numbers: list[int]) -> list[int]:
        return double(numbers)

    handler = app.job(kind="double", batch=10)(double if sync else double_async)
    handles = await handler.aenqueue_many(numbers(95))
    async with working(app, {"default": 1}):
        assert [await handle.aresult(SOON) for handle in handles] == [2 * n for n in range(95)]
    assert sorted(number for call in calls for number in call) == list(range(95))
    assert max(map(len, calls)) == 10
    assert len(calls) < 20


async def test_what_a_batch_handler_gives_for_each_job_is_of_its_type_for_whoever_calls_it(app: Penstock) -> None:
    @app.job(batch=10)
    def at(hours: list[int]) -> list[datetime]:
        return [datetime(2026, 1, 1, hour, tzinfo=UTC) for hour in hours]

    @app.job(batch=10, max_attempts=1)
    async def halve(numbers: list[int]) -> Sequence[int | Exception]:
        return [ValueError("odd") if number % 2 else number // 2 for number in numbers]

    @app.job(batch=10)
    def note(words: list[str]) -> None: ...

    @app.job
    async def call(ctx: Context) -> list[object]:
        times = await ctx.gather(*(at.prepare(hour) for hour in (1, 2)))
        halves = await ctx.gather(halve.prepare(4), halve.prepare(3), return_exceptions=True)
        return [
            [time.hour for time in times],
            [each.error if isinstance(each, CallFailed) else each for each in halves],
            await ctx.call(note, "a"),
        ]

    expected = [[1, 2], [2, "odd"], None]
    one, single, [many] = await call.aenqueue(), await at.aenqueue(3), await at.aenqueue_many([{"hours": 4}])
    async with working(app, {"default": 2}):
        assert await one.aresult(SOON) == expected
        assert [(await each.aresult(SOON)).hour for each in (single, many)] == [3, 4]
    assert (await arun_inline(call)).output == expected


async def test_a_batch_holds_one_slot(app: Penstock) -> None:
    running = 0
    most: list[int] = []

    @app.job(batch=5)
    async def work(numbers: list[int]) -> None:
        nonlocal running
        running += 1
        most.append(running)
        await asyncio.sleep(0)
        running -= 1

    handles = await work.aenqueue_many(numbers(60))
    async with working(app, {"default": 2}):
        for handle in handles:
            await handle.aresult(SOON)
    assert max(most) == 2


async def test_other_kinds_run_between_batches_and_never_inside(app: Penstock) -> None:
    seen: list[list[int]] = []

    @app.job(batch=4)
    async def take(numbers: list[int]) -> None:
        seen.append(numbers)

    @app.job
    async def single(number: int) -> int:
        return number

    jobs = [take.prepare(n) if n % 2 else single.prepare(n) for n in range(20)]
    handles = await app.aenqueue_many(jobs)
    async with working(app, {"default": 1}):
        results = [await handle.aresult(SOON) for handle in handles]
    assert results == [None if n % 2 else n for n in range(20)]
    assert sorted(n for call in seen for n in call) == list(range(1, 20, 2))


async def test_each_job_of_a_batch_ends_by_what_was_returned_for_it(app: Penstock) -> None:
    @app.job(batch=10, max_attempts=1)
    async def judge(numbers: list[int]) -> list[Any]:
        fates = ["fine", Fail("never"), Snooze(1000), LookupError("not there"), object(), None]
        return [fates[number] for number in numbers]

    fine, never, later, missing, unfit, nothing = await judge.aenqueue_many(numbers(6))
    async with working(app, {"default": 1}):
        assert await app.handle(fine.id).aresult(SOON) == "fine"
        assert await app.handle(nothing.id).aresult(SOON) is None
        with pytest.raises(JobFailed, match="never"):
            await never.aresult(SOON)
        with pytest.raises(JobFailed, match="not there"):
            await missing.aresult(SOON)
        with pytest.raises(JobFailed, match="cannot be stored"):
            await unfit.aresult(SOON)

        async def has_snoozed() -> bool:
            return (await later.arefresh()).snoozes == 1

        await until(has_snoozed)
    assert (await missing.arefresh()).errors[0]["type"] == "LookupError"


async def test_when_a_batch_handler_raises_each_of_its_jobs_has_failed_once(app: Penstock) -> None:
    attempts: list[int] = []

    @app.job(batch=10, max_attempts=2, backoff=AT_ONCE)
    async def work(numbers: list[int]) -> None:
        attempts.append(len(numbers))
        if len(attempts) == 1:
            raise LookupError("all of them")

    handles = await work.aenqueue_many(numbers(3))
    async with working(app, {"default": 1}):
        jobs = await until_ended(handles)
    assert attempts[0] == 3
    for job in jobs:
        assert (job.attempt, [error["error"] for error in job.errors]) == (2, ["all of them"])


@pytest.mark.parametrize("result", [[1], [1, 2, 3], "ab", 7, {1: 2, 3: 4}], ids=repr)
async def test_a_list_of_another_length_fails_the_batch_and_says_why(app: Penstock, result: object) -> None:
    @app.job(batch=10, max_attempts=1)
    async def work(numbers: list[int]) -> Any:
        return result

    handles = await work.aenqueue_many(numbers(2))
    async with working(app, {"default": 1}):
        jobs = await until_ended(handles)
    assert all("a result for each of its 2 jobs" in str(job.last_error) for job in jobs)
    assert {job.state for job in jobs} == {JobState.FAILED}


async def test_a_parameter_by_position_only_is_a_parameter(app: Penstock) -> None:
    @app.job(batch=10)
    async def work(numbers: list[int], /) -> list[int]:
        return numbers

    handles = await work.aenqueue_many(numbers(3))
    async with working(app, {"default": 1}):
        assert [await app.handle(handle.id).aresult(SOON) for handle in handles] == [0, 1, 2]


async def test_a_batch_has_a_timeout(app: Penstock) -> None:
    @app.job(batch=10, timeout=0.05, max_attempts=1)
    async def work(numbers: list[int]) -> None:
        await asyncio.Event().wait()

    handles = await work.aenqueue_many(numbers(2))
    async with working(app, {"default": 1}):
        for handle in handles:
            with pytest.raises(JobFailed, match=r"timed out after 0\.05 s"):
                await handle.aresult(SOON)


async def test_cancelling_one_job_of_a_batch_does_not_fail_the_others(app: Penstock) -> None:
    started, go = asyncio.Event(), asyncio.Event()

    @app.job(batch=10, max_attempts=1)
    async def work(numbers: list[int]) -> None:
        started.set()
        await go.wait()

    @app.job(queue="other")
    async def go_on() -> None: ...

    handles = await work.aenqueue_many(numbers(3))
    async with working(app, {"default": 1, "other": 1}) as worker:
        await started.wait()
        assert await handles[1].acancel()

        await until(lambda: any(run.stop for run in worker.runs if run.job.id == handles[1].id))
        go.set()
        for handle in (handles[0], handles[2]):
            await handle.aresult(SOON)
        # it was too late for this one: what its handler did is done
        await handles[1].aresult(SOON)
    assert {(await handle.arefresh()).state for handle in handles} == {JobState.SUCCEEDED}


async def test_a_batch_of_one_is_stopped_when_its_job_is_cancelled(app: Penstock) -> None:
    started = asyncio.Event()

    @app.job(batch=10)
    async def work(numbers: list[int]) -> None:
        started.set()
        await asyncio.Event().wait()

    [handle] = await work.aenqueue_many(numbers(1))
    async with working(app, {"default": 1}):
        await started.wait()
        await handle.acancel()
        with pytest.raises(JobCancelled):
            await handle.aresult(SOON)


async def two_parameters(numbers: list[int], more: int) -> None: ...


async def no_parameter() -> None: ...


async def with_context(ctx: Context, numbers: list[int]) -> None: ...


async def no_list(numbers: int) -> None: ...


async def with_default(numbers: list[int] | None = None) -> None: ...


async def with_default_list(numbers: list[int] = []) -> None: ...  # noqa: B006


async def by_name(**numbers: list[int]) -> None: ...


@pytest.mark.parametrize(
    "function", [two_parameters, no_parameter, with_context, no_list, with_default, with_default_list, by_name]
)
def test_a_function_that_takes_no_list_of_jobs_is_refused(app: Penstock, function: Callable[..., Any]) -> None:
    with pytest.raises(InvalidInput):
        app.job(batch=10)(function)
    assert app.kinds == []


@pytest.mark.parametrize("size", [0, -1, "ten", 1.5])
def test_a_size_that_is_none_is_refused(app: Penstock, size: Any) -> None:
    async def work(numbers: list[int]) -> None: ...

    with pytest.raises(InvalidInput, match="batch"):
        app.job(batch=size)(work)


def test_a_batch_in_a_process_is_refused(app: Penstock) -> None:
    async def work(numbers: list[int]) -> None: ...

    with pytest.raises(InvalidInput, match="not isolated"):
        app.job(batch=10, isolate=True)(work)
