"""Handlers that fail, give up, or ask for another time: what is kept of it, and when the job runs again."""

import asyncio
import re
from datetime import datetime, timedelta
from typing import Any

import pytest

from penstock import (
    Backoff,
    Cancel,
    Context,
    Fail,
    Handler,
    Job,
    JobCancelled,
    JobFailed,
    JobHandle,
    JobState,
    Penstock,
    Snooze,
)
from penstock.outcome import Outcome
from tests.kit.until import until
from tests.kit.working import working

SOON = 20.0
AT_ONCE = Backoff.constant(0)


class Unspeakable(Exception):
    def __str__(self) -> str:
        raise RuntimeError("cannot be told")


class NoException(BaseException):
    pass


ERRORS: list[tuple[BaseException, str, str]] = [
    (LookupError("no such document"), "no such document", "LookupError"),
    (LookupError("a\x00b\ud800c"), "a\ufffdb?c", "LookupError"),
    (LookupError(), "LookupError", "LookupError"),
    (LookupError("long " * 200_000), "long " * 1600, "LookupError"),
    (SystemExit(3), "3", "SystemExit"),
    (asyncio.CancelledError("its own"), "its own", "CancelledError"),
    (TimeoutError("its own"), "its own", "TimeoutError"),
    (Unspeakable(), "Unspeakable", "Unspeakable"),
    (NoException("at all"), "at all", "NoException"),
    (ExceptionGroup("several", [LookupError("inner")]), "several (1 sub-exception)", "ExceptionGroup"),
]


@pytest.mark.parametrize("sync", [False, True], ids=["async", "sync"])
@pytest.mark.parametrize(
    ("error", "message", "kind"), ERRORS, ids=[f"{kind}-{n}" for n, (*_, kind) in enumerate(ERRORS)]
)
async def test_what_a_handler_raises_is_kept_with_the_job_and_costs_the_worker_nothing(
    app: Penstock, error: BaseException, message: str, kind: str, sync: bool
) -> None:
    def give_up() -> None:
        raise error

    async def give_up_async() -> None:
        raise error

    handler = app.job(kind="give_up", max_attempts=1)(give_up if sync else give_up_async)

    @app.job
    async def go_on() -> int:
        return 1

    async with working(app, {"default": 1}):
        handle = await handler.aenqueue()
        with pytest.raises(JobFailed):
            await handle.aresult(SOON)
        assert await (await go_on.aenqueue()).aresult(SOON) == 1
    [kept] = (await handle.arefresh()).errors
    assert kept["error"] == message
    assert kept["attempt"] == 1
    assert kept["type"] == kind
    assert "in give_up" in kept["traceback"]
    assert len(kept["traceback"]) < 17_000


async def test_a_stop_iteration_in_a_thread_fails_its_job(app: Penstock) -> None:
    @app.job(max_attempts=1)
    def give_up() -> None:
        next(iter(()))

    async with working(app):
        handle = await give_up.aenqueue()
        with pytest.raises(JobFailed, match="StopIteration"):
            await handle.aresult(SOON)
    assert "in give_up" in (await handle.arefresh()).errors[0]["traceback"]


async def test_a_retry_waits_as_its_backoff_says(app: Penstock) -> None:
    loop = asyncio.get_running_loop()
    began: list[float] = []

    @app.job(max_attempts=3, backoff=Backoff(0.05, factor=3, jitter=0))
    async def give_up(ctx: Context) -> None:
        began.append(loop.time())
        assert ctx.attempt == len(began)
        assert ctx.last_attempt is (len(began) == 3)
        raise LookupError(f"attempt {ctx.attempt}")

    async with working(app):
        handle = await give_up.aenqueue()
        with pytest.raises(JobFailed, match="failed after 3 attempts: attempt 3"):
            await handle.aresult(SOON)
    first, second, third = began
    assert second - first >= 0.05
    assert third - second >= 0.15
    job = await handle.arefresh()
    assert job.attempt == 3
    assert [(error["attempt"], error["error"]) for error in job.errors] == [(n, f"attempt {n}") for n in (1, 2, 3)]


async def test_a_retry_that_is_due_soon_does_not_wait_for_the_next_round(app: Penstock) -> None:
    loop = asyncio.get_running_loop()

    @app.job(max_attempts=8, backoff=Backoff.constant(0.02))
    async def give_up() -> None:
        raise LookupError

    async with working(app):
        began = loop.time()
        with pytest.raises(JobFailed, match="failed after 8 attempts"):
            await (await give_up.aenqueue()).aresult(SOON)
    # one round a second, seven retries
    assert loop.time() - began < 3.5


async def test_a_long_backoff_is_on_record_and_holds_no_slot(app: Penstock) -> None:
    @app.job(backoff=Backoff.constant(1000))
    async def give_up() -> None:
        raise LookupError

    @app.job
    async def go_on() -> int:
        return 1

    async with working(app, {"default": 1}):
        handle = await give_up.aenqueue()

        async def scheduled() -> Job | None:
            job = await handle.arefresh()
            return job if job.state is JobState.SCHEDULED else None

        job = await until(scheduled)
        assert job is not None
        assert await (await go_on.aenqueue()).aresult(SOON) == 1
    assert job.run_at - datetime.fromisoformat(job.errors[0]["at"]) == timedelta(seconds=1000)


@pytest.mark.parametrize("sync", [False, True], ids=["async", "sync"])
async def test_a_handler_that_returns_an_outcome_ends_so(app: Penstock, sync: bool) -> None:
    outcomes: dict[str, Outcome] = {
        "snooze": Snooze(1000), "cancel": Cancel("no longer wanted"), "fail": Fail("never\x00 works"),
    }  # fmt: skip

    def end(how: str) -> Outcome:
        return outcomes[how]

    async def end_async(how: str) -> Outcome:
        return outcomes[how]

    handler: Handler[[str], Any] = app.job(kind="end")(end if sync else end_async)
    async with working(app):
        with pytest.raises(JobCancelled, match="no longer wanted"):
            await (await handler.aenqueue("cancel")).aresult(SOON)
        with pytest.raises(JobFailed, match="failed after 1 attempt: never\ufffd works"):
            await (await handler.aenqueue("fail")).aresult(SOON)
        snoozed = await handler.aenqueue("snooze")

        async def has_snoozed() -> bool:
            return (await snoozed.arefresh()).snoozes == 1

        await until(has_snoozed)
    job = await snoozed.arefresh()
    assert (job.state, job.attempt, job.errors) == (JobState.SCHEDULED, 0, [])
    assert 990 < (job.run_at - job.created_at).total_seconds() < 1060


async def test_a_snooze_runs_again_at_no_cost_of_an_attempt(app: Penstock) -> None:
    @app.job(max_attempts=1)
    async def poll(ctx: Context) -> tuple[int, int]:
        try:
            deep_inside(ctx)
        except Exception:  # must not catch it
            return (-1, -1)
        return ctx.attempt, ctx.job.snoozes

    def deep_inside(ctx: Context) -> None:
        if ctx.job.snoozes < 3:
            ctx.snooze(0.01)

    async with working(app):
        assert await (await poll.aenqueue()).aresult(SOON) == (1, 3)


async def test_an_outcome_raised_in_a_task_group_is_an_outcome(app: Penstock) -> None:
    @app.job(max_attempts=1)
    async def poll(ctx: Context) -> int:
        async with asyncio.TaskGroup() as group:
            group.create_task(look(ctx))
            group.create_task(asyncio.sleep(0 if ctx.job.snoozes else 60))
        return ctx.job.snoozes

    async def look(ctx: Context) -> None:
        if ctx.job.snoozes == 0:
            ctx.snooze(0)

    async with working(app):
        assert await (await poll.aenqueue()).aresult(SOON) == 1


@pytest.mark.parametrize("raised", [False, True], ids=["returned", "raised"])
@pytest.mark.parametrize(
    "outcome",
    [Snooze("a while"), Snooze(float("inf")), Fail(None), Cancel(None), Cancel("gone \ud800"), Cancel("a\x00b")],  # type: ignore[arg-type]
    ids=["snooze text", "snooze for ever", "fail None", "cancel None", "cancel surrogate", "cancel NUL"],
)
async def test_an_outcome_that_makes_no_sense_ends_the_job_and_nothing_else(
    app: Penstock, outcome: Outcome, raised: bool
) -> None:
    @app.job(max_attempts=1)
    async def end() -> Outcome:
        if raised:
            raise outcome
        return outcome

    @app.job
    async def go_on() -> int:
        return 1

    async with working(app, {"default": 1}):
        handle: JobHandle[Any] = await end.aenqueue()
        with pytest.raises((JobFailed, JobCancelled)):
            await handle.aresult(SOON)
        assert await (await go_on.aenqueue()).aresult(SOON) == 1
    assert re.search(r"\w", (await handle.arefresh()).last_error or "")


async def test_a_job_that_fails_goes_back_and_another_takes_its_slot(app: Penstock) -> None:
    order: list[str] = []

    @app.job(max_attempts=2, backoff=AT_ONCE)
    async def work(name: str) -> None:
        order.append(name)
        if order.count(name) == 1:
            raise LookupError

    async with working(app, {"default": 1}):
        for handle in await work.aenqueue_many([{"name": name} for name in "abc"]):
            await handle.aresult(SOON)
    assert sorted(order) == sorted("aabbcc")
