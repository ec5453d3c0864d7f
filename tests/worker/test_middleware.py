"""Middleware around handlers of every sort, and log lines that say which job they belong to."""

import asyncio
import io
import json
import logging
from collections.abc import Iterator
from typing import Any

import pytest

from penstock import Cancel, Context, Fail, JobContext, JobFailed, NewJob, Penstock, Snooze, SyncContext
from penstock.logs import set_up
from penstock.middleware import CallNext, log_jobs
from penstock.outcome import OtherVersion
from tests.kit.until import until
from tests.kit.working import working
from tests.worker import in_process
from tests.worker.in_process import Point

SOON = 20.0


async def double_async(number: int) -> int:
    return 2 * number


def double(number: int) -> int:
    return 2 * number


async def break_async(message: str) -> None:
    raise LookupError(message)


def break_down(message: str) -> None:
    raise LookupError(message)


async def test_the_first_is_outermost(app: Penstock) -> None:
    order: list[str] = []

    @app.middleware
    async def outer(ctx: JobContext, call_next: CallNext) -> Any:
        order.append("outer begins")
        result = await call_next()
        order.append("outer ends")
        return result

    @app.middleware
    async def inner(ctx: JobContext, call_next: CallNext) -> Any:
        order.append("inner begins")
        result = await call_next()
        order.append("inner ends")
        return result

    @app.job
    async def work() -> None:
        order.append("work")

    async with working(app):
        await (await work.aenqueue()).aresult(SOON)
    assert order == ["outer begins", "inner begins", "work", "inner ends", "outer ends"]


@pytest.mark.parametrize("function", [double_async, double], ids=["async", "thread"])
async def test_a_middleware_sees_the_result_and_may_give_another(app: Penstock, function: Any) -> None:
    seen: list[tuple[str, int, Any]] = []

    @app.middleware
    async def add_one(ctx: JobContext, call_next: CallNext) -> Any:
        result = await call_next()
        seen.append((ctx.kind, ctx.attempt, result))
        return result + 1

    handler = app.job(kind="double")(function)
    async with working(app):
        assert await (await handler.aenqueue(21)).aresult(SOON) == 43
    assert seen == [("double", 1, 42)]


@pytest.mark.parametrize("function", [break_async, break_down], ids=["async", "thread"])
async def test_a_middleware_sees_what_was_raised(app: Penstock, function: Any) -> None:
    seen: list[BaseException] = []

    @app.middleware
    async def look(ctx: JobContext, call_next: CallNext) -> Any:
        try:
            return await call_next()
        except BaseException as error:
            seen.append(error)
            raise

    handler = app.job(kind="break", max_attempts=1)(function)
    async with working(app):
        with pytest.raises(JobFailed, match="no such document"):
            await (await handler.aenqueue("no such document")).aresult(SOON)
    [error] = seen
    assert isinstance(error, LookupError)
    assert str(error) == "no such document"


@pytest.mark.parametrize("function", [break_async, break_down], ids=["async", "thread"])
async def test_a_middleware_may_turn_an_error_into_an_outcome(app: Penstock, function: Any) -> None:
    @app.middleware
    async def wait_for_it(ctx: JobContext, call_next: CallNext) -> Any:
        try:
            return await call_next()
        except LookupError:
            return "not there" if ctx.job.snoozes else Snooze(0)

    handler = app.job(kind="break", max_attempts=1)(function)
    async with working(app):
        handle = await handler.aenqueue("no such document")
        assert await app.handle(handle.id).aresult(SOON) == "not there"
    assert (await handle.arefresh()).snoozes == 1


@pytest.mark.parametrize("function", [double_async, double], ids=["async", "thread"])
async def test_a_middleware_that_raises_fails_the_job_and_the_worker_goes_on(app: Penstock, function: Any) -> None:
    @app.middleware
    async def refuse(ctx: JobContext, call_next: CallNext) -> Any:
        result = await call_next()
        if result == 26:
            raise PermissionError("unlucky")
        return result

    handler = app.job(kind="double", max_attempts=1)(function)
    async with working(app, {"default": 1}):
        with pytest.raises(JobFailed, match="unlucky"):
            await (await handler.aenqueue(13)).aresult(SOON)
        assert await (await handler.aenqueue(1)).aresult(SOON) == 2


async def test_a_middleware_sees_the_context_that_the_handler_gets(app: Penstock) -> None:
    seen: list[JobContext] = []

    @app.middleware
    async def look(ctx: JobContext, call_next: CallNext) -> Any:
        seen.append(ctx)
        return await call_next()

    @app.job
    async def work_async(ctx: Context) -> None:
        assert ctx is seen[-1]

    @app.job
    def work(ctx: SyncContext) -> None:
        assert ctx is seen[-1]

    async with working(app, {"default": 1}):
        await (await work_async.using(max_attempts=1).aenqueue()).aresult(SOON)
        await (await work.using(max_attempts=1).aenqueue()).aresult(SOON)


async def test_a_middleware_wraps_handlers_in_processes(app: Penstock) -> None:
    seen: list[Any] = []

    @app.middleware
    async def look(ctx: JobContext, call_next: CallNext) -> Any:
        try:
            result = await call_next()
        except Exception as error:
            seen.append(str(error))
            raise
        seen.append(result)
        return Cancel("not today") if ctx.kind == "tell_setting" else result

    for name in ("mirror", "raise_error", "tell_setting", "return_snooze"):
        app.job(isolate=True, max_attempts=1)(getattr(in_process, name))
    async with working(app, {"default": 1}):
        mirrored = await app.handler("mirror").aenqueue(Point(1, 2))
        assert await mirrored.aresult(SOON) == Point(2, 1)
        raised = await app.handler("raise_error").aenqueue("no such document")
        with pytest.raises(JobFailed, match=": no such document"):
            await raised.aresult(SOON)
        replaced = await app.handler("tell_setting").aenqueue()

        async def has_ended() -> bool:
            return (await replaced.arefresh()).state.final

        await until(has_ended)
        snoozed = await app.handler("return_snooze").aenqueue()

        async def has_snoozed() -> bool:
            return (await snoozed.arefresh()).snoozes == 1

        await until(has_snoozed)
    assert seen == [{"x": 2, "y": 1}, "LookupError: no such document", "unset", Snooze(1000)]
    assert (await replaced.arefresh()).last_error == "not today"
    [error] = (await raised.arefresh()).errors
    assert (error["type"], "in raise_error" in error["traceback"]) == ("LookupError", True)


async def test_a_middleware_sees_how_a_handler_ended_in_a_process_as_it_would_in_its_own(app: Penstock) -> None:
    """Here a middleware that answers for whoever said nothing, which must not complete what is parked."""
    seen: list[Any] = []

    @app.middleware
    async def look(ctx: JobContext, call_next: CallNext) -> Any:
        seen.append(await call_next())
        return "done" if seen[-1] is None else seen[-1]

    mirror = app.job(isolate=True)(in_process.mirror)
    fail = app.job(isolate=True)(in_process.raise_fail)
    older = NewJob(kind="mirror", args=b'{"older": 1}')

    async def is_parked() -> bool:
        return (await app.handle(older.id).arefresh()).parked_since is not None

    async with working(app, {"default": 1}):
        await mirror.engine.aenqueue([older])
        # the other one might be handed over while this one is being claimed, and run first
        await until(is_parked, within=SOON)
        failed = await fail.aenqueue("no such document")
        with pytest.raises(JobFailed, match=r": no such document$"):
            await failed.aresult(SOON)
    reason = (await app.handle(older.id).arefresh()).parked_reason
    assert reason
    assert seen == [OtherVersion(reason), Fail("no such document")]


@pytest.fixture
def lines() -> Iterator[io.StringIO]:
    """What is logged, as `penstock worker` would."""
    root = logging.getLogger()
    before, level = root.handlers[:], root.level
    stream = io.StringIO()
    yield stream
    root.handlers[:] = before
    root.setLevel(level)


log = logging.getLogger("tests.work")


async def log_async() -> None:
    log.info("in the midst of it")
    await asyncio.sleep(0)
    await asyncio.create_task(log_from_a_task())


async def log_from_a_task() -> None:
    log.info("in a task of it", extra={"page": 7})


def log_in_thread() -> None:
    log.info("in the midst of it")


@pytest.mark.parametrize("function", [log_async, log_in_thread], ids=["async", "thread"])
async def test_every_line_of_a_job_says_which_one_in_json(app: Penstock, lines: io.StringIO, function: Any) -> None:
    set_up("debug", json=True, stream=lines)
    app.middleware(log_jobs)
    handler = app.job(kind="work")(function)
    async with working(app, {"default": 1}):
        handles = await handler.aenqueue_many([{}] * 5)
        for handle in handles:
            await handle.aresult(SOON)
    written = [json.loads(line) for line in lines.getvalue().splitlines()]
    for handle in handles:
        of_job = [line for line in written if line.get("job") == str(handle.id)]
        assert {(line["kind"], line["attempt"]) for line in of_job} == {("work", 1)}
        messages = [line["message"] for line in of_job if line["logger"] in ("tests.work", "penstock.jobs")]
        between = ["in the midst of it"] if function is log_in_thread else ["in the midst of it", "in a task of it"]
        assert messages[:-1] == ["started", *between]
        assert messages[-1].startswith("done in ")
    assert all("job" not in line for line in written if line["logger"] == "penstock.worker")
    assert [line["page"] for line in written if line["message"] == "in a task of it"] == [7] * 5 * (
        function is log_async
    )


async def test_every_line_of_a_job_says_which_one_to_people(app: Penstock, lines: io.StringIO) -> None:
    set_up("info", json=False, stream=lines)
    handler = app.job(kind="work")(log_in_thread)
    async with working(app):
        handle = await handler.aenqueue()
        await handle.aresult(SOON)
    [line] = [line for line in lines.getvalue().splitlines() if "in the midst of it" in line]
    assert line.endswith(f"  work {str(handle.id)[-12:]} #1  in the midst of it")
    assert all("#1" not in line for line in lines.getvalue().splitlines() if "worker" in line)


@pytest.mark.parametrize(
    "function", [break_async, break_down, in_process.raise_error], ids=["async", "thread", "process"]
)
async def test_a_failure_is_logged_with_its_reason(app: Penstock, lines: io.StringIO, function: Any) -> None:
    set_up("info", json=True, stream=lines)
    app.middleware(log_jobs)
    isolate = function is in_process.raise_error
    handler = app.job(kind="break", max_attempts=1, isolate=isolate)(function)
    async with working(app):
        handle = await handler.aenqueue("no such document")
        with pytest.raises(JobFailed):
            await handle.aresult(SOON)
    written = [json.loads(line) for line in lines.getvalue().splitlines()]
    timed, given_up = [line for line in written if line["logger"] == "penstock.jobs"]
    assert (timed["level"], timed["job"]) == ("info", str(handle.id))
    assert timed["message"].startswith("failed after ")
    assert (given_up["level"], given_up["job"], given_up["kind"]) == ("error", str(handle.id), "break")
    assert given_up["message"].startswith("given up after attempt 1 of 1: LookupError: no such document")
    assert "Traceback (most recent call last)" in (given_up["message"] if isolate else given_up["exception"])


async def test_an_outcome_is_told_apart_from_a_result(app: Penstock, lines: io.StringIO) -> None:
    set_up("info", json=True, stream=lines)
    app.middleware(log_jobs)

    @app.job
    async def poll() -> None:
        raise Snooze(60)

    await poll.aenqueue()
    await app.atick()
    [line] = [line for line in map(json.loads, lines.getvalue().splitlines()) if line["logger"] == "penstock.jobs"]
    assert line["message"].startswith("ended after ")
    assert line["message"].endswith(": Snooze(seconds=60)")
