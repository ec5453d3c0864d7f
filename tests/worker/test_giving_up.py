"""When a job is given up: what is logged, who is told, and which errors are worth another attempt."""

import asyncio
import threading
from typing import Any

import pytest

from penstock import (
    Backoff,
    Cancel,
    Context,
    Fail,
    Failure,
    InvalidInput,
    JobState,
    NewJob,
    Penstock,
    Snooze,
    SyncContext,
)
from penstock.context import JobContext
from penstock.middleware import CallNext
from penstock.outcome import Outcome
from tests.kit.fixtures import Connect
from tests.worker import in_process

AT_ONCE = Backoff.constant(0)


class Damaged(Exception):
    pass


class Busy(Exception):
    pass


def told(caplog: pytest.LogCaptureFixture) -> list[tuple[str, str, bool]]:
    """Level, message and whether there is an exception that Sentry would take."""
    return [
        (record.levelname, record.getMessage(), bool(record.exc_info))
        for record in caplog.records
        if record.name == "penstock.jobs"
    ]


@pytest.mark.parametrize("sync", [False, True], ids=["async", "thread"])
async def test_the_last_attempt_is_logged_with_its_traceback_and_earlier_ones_as_warnings(
    app: Penstock, caplog: pytest.LogCaptureFixture, sync: bool
) -> None:
    def give_up() -> None:
        raise Damaged("page 3")

    async def give_up_async() -> None:
        raise Damaged("page 3")

    handler = app.job(kind="give_up", max_attempts=2, backoff=AT_ONCE)(give_up if sync else give_up_async)
    job = await app.aenqueue(handler.prepare())
    await app.atick()
    assert told(caplog) == [
        ("WARNING", "attempt 1 of 2 failed, tried again: Damaged: page 3", False),
        ("ERROR", "given up after attempt 2 of 2: Damaged: page 3", True),
    ]
    record = [record for record in caplog.records if record.name == "penstock.jobs"][-1]
    assert record.exc_info is not None
    assert isinstance(record.exc_info[1], Damaged)
    assert record.exc_info[2] is not None
    assert (record.job_id, record.job_kind, record.job_attempt) == (str(job.id), "give_up", 2)  # type: ignore[attr-defined]


async def test_a_handlers_own_refusal_is_logged_without_one(app: Penstock, caplog: pytest.LogCaptureFixture) -> None:
    @app.job
    async def refuse() -> None:
        raise Fail("not in this country")

    await refuse.aenqueue()
    await app.atick()
    assert told(caplog) == [("WARNING", "given up by its handler: not in this country", False)]


async def test_a_timeout_is_logged_and_kept_with_where_it_was(app: Penstock, caplog: pytest.LogCaptureFixture) -> None:
    async def ask_a_silent_bank() -> None:
        await asyncio.Event().wait()

    @app.job(timeout=0.05, max_attempts=1)
    async def charge() -> None:
        await ask_a_silent_bank()

    handle = await charge.aenqueue()
    await app.atick()
    [(level, said, _)] = told(caplog)
    assert (level, said.splitlines()[0]) == ("ERROR", "given up after attempt 1 of 1: Timeout: timed out after 0.05 s")
    job = await handle.arefresh()
    assert "in ask_a_silent_bank\n    await asyncio.Event().wait()" in said
    assert said.endswith(job.errors[0]["traceback"])
    assert said.endswith("TimeoutError: timed out after 0.05 s\n")
    assert job.shown_error == "timed out after 0.05 s"


async def test_an_exception_that_is_named_fail_is_an_exception(app: Penstock, caplog: pytest.LogCaptureFixture) -> None:
    @app.job(max_attempts=1)
    async def refuse() -> None:
        raise type("Fail", (Exception,), {})("no such card")

    await refuse.aenqueue()
    await app.atick()
    assert told(caplog) == [("ERROR", "given up after attempt 1 of 1: Fail: no such card", True)]


async def test_whoever_asked_is_told_of_each_job_that_was_given_up(
    app: Penstock, connect: Connect, caplog: pytest.LogCaptureFixture
) -> None:
    seen: dict[str, list[Failure]] = {"async": [], "thread": []}

    @app.on_failure
    async def note(failure: Failure) -> None:
        seen["async"].append(failure)

    @app.on_failure
    def note_in_thread(failure: Failure) -> None:
        assert threading.current_thread() is not threading.main_thread()
        seen["thread"].append(failure)

    @app.on_failure
    def break_down(failure: Failure) -> None:
        raise SystemExit(f"cannot tell of {failure.job.kind}")

    @app.job(max_attempts=2, backoff=AT_ONCE)
    async def give_up(number: int) -> None:
        raise Damaged(f"page {number}")

    @app.job
    async def refuse() -> Fail:
        return Fail("no")

    @app.job(max_snoozes=0)
    async def poll() -> Snooze:
        return Snooze(1)

    @app.job
    async def succeed() -> None: ...

    @app.job
    async def cancel() -> Cancel:
        return Cancel()

    await give_up.aenqueue(3)
    for handler in (refuse, poll, succeed, cancel):
        await app.aenqueue(handler.prepare())
    assert len(await app.atick()) == 6
    for failures in seen.values():
        by_kind = {failure.job.kind: failure for failure in failures}
        assert len(failures) == 3
        assert {kind: each.error for kind, each in by_kind.items()} == {
            "give_up": "page 3", "refuse": "no", "poll": "still not done after its last snooze",
        }  # fmt: skip
        assert isinstance(by_kind["give_up"].exception, Damaged)
        assert "in give_up" in str(by_kind["give_up"].traceback)
        assert by_kind["refuse"].exception is None
    assert sum("a function of @app.on_failure raised" in message for message in caplog.messages) == 3
    assert by_kind["poll"].error_type == "Snoozed"
    assert ("ERROR", "given up: still not done after its last snooze", False) in told(caplog)


async def test_a_job_that_was_parked_for_too_long_is_logged_as_given_up(
    app: Penstock, connect: Connect, caplog: pytest.LogCaptureFixture
) -> None:
    seen: list[Failure] = []
    app.on_failure(seen.append)
    [job] = await app.engine.aenqueue([NewJob(kind="rotate")], None)
    await app.atick(queues={"default": 1})
    assert (told(caplog), seen) == ([], [])
    connect().execute("update penstock.jobs set parked_since = now() - interval '4 days', run_at = now()")
    caplog.clear()
    [result] = await app.atick(queues={"default": 1})
    assert (result.id, result.state) == (job.id, JobState.FAILED)
    why = "no worker that knows it came in time: this worker has no handler of kind 'rotate'"
    assert told(caplog) == [("ERROR", f"given up: {why}", False)]
    assert not any("parked for a worker" in message for message in caplog.messages), "it waits for none any more"
    assert [(each.error, each.error_type) for each in seen] == [(why, "Parked")]


OUTCOMES: list[tuple[Outcome, JobState, str | None]] = [
    (Fail("damaged"), JobState.FAILED, "damaged"),
    (Cancel("not needed"), JobState.CANCELLED, "not needed"),
    (Snooze(60), JobState.SCHEDULED, None),
]


@pytest.mark.parametrize("wrapped", [False, True], ids=["", "middleware"])
@pytest.mark.parametrize(("outcome", "state", "error"), OUTCOMES, ids=["fail", "cancel", "snooze"])
async def test_an_outcome_may_be_raised_from_anywhere(
    app: Penstock, connect: Connect, outcome: Outcome, state: JobState, error: str | None, wrapped: bool
) -> None:
    connection = connect()
    connection.execute("create table notes (text text)")
    seen: list[object] = []
    if wrapped:

        @app.middleware
        async def look(ctx: JobContext, call_next: CallNext) -> Any:
            try:
                seen.append(result := await call_next())
            except BaseException as raised:
                seen.append(("raised", raised))
                raise
            return result

    def deep_inside() -> None:
        try:
            raise outcome
        except Exception:
            raise AssertionError("it must pass by handlers of exceptions") from None

    @app.job
    async def plain() -> None:
        deep_inside()

    @app.job
    async def in_transaction(ctx: Context) -> None:
        async with ctx.transaction() as connection:
            await connection.execute("insert into notes values ('x')")
            deep_inside()

    @app.job
    async def in_group() -> None:
        async def inner() -> None:
            deep_inside()

        async with asyncio.TaskGroup() as group:
            group.create_task(inner())
            group.create_task(asyncio.sleep(60))

    @app.job
    def in_thread(ctx: SyncContext) -> None:
        with ctx.transaction() as connection:
            connection.execute("insert into notes values ('x')")
            deep_inside()

    @app.job(batch=5)
    async def in_batch(numbers: list[int]) -> None:
        deep_inside()

    @app.job(batch=5)
    def in_batch_in_thread(numbers: list[int]) -> None:
        deep_inside()

    for handler in (plain, in_transaction, in_group, in_thread):
        await app.aenqueue(handler.prepare())
    for batch in (in_batch, in_batch_in_thread):
        await app.aenqueue(batch.prepare(1))
    results = await app.atick()
    assert {(each.kind, each.state, each.error) for each in results} == {
        (kind, state, error)
        for kind in ("plain", "in_transaction", "in_group", "in_thread", "in_batch", "in_batch_in_thread")
    }
    assert connection.execute("select count(*) from notes").fetchone() == (0,)
    assert seen == [outcome] * 4 * wrapped


async def test_it_crosses_the_border_of_a_process_too(app: Penstock) -> None:
    handler = app.job(isolate=True)(in_process.raise_fail)
    await handler.aenqueue("damaged")
    refuse = app.job(isolate=True, no_retry_on=LookupError)(in_process.raise_error)
    await refuse.aenqueue("no such page")
    results = {each.kind: (each.state, each.attempt, each.error) for each in await app.atick()}
    assert results == {
        "raise_fail": (JobState.FAILED, 1, "damaged"),
        "raise_error": (JobState.FAILED, 1, "no such page"),
    }


@pytest.mark.parametrize(
    ("rule", "error", "state"),
    [
        ({"no_retry_on": Damaged}, Damaged(), JobState.FAILED),
        ({"no_retry_on": Damaged}, Busy(), JobState.SCHEDULED),
        ({"no_retry_on": (Damaged, LookupError)}, KeyError(), JobState.FAILED),
        ({"retry_on": Busy}, Busy(), JobState.SCHEDULED),
        ({"retry_on": Busy}, Damaged(), JobState.FAILED),
        ({"retry_on": (Busy, Damaged), "no_retry_on": Damaged}, Damaged(), JobState.FAILED),
        ({"retry_on": ()}, Busy(), JobState.FAILED),
        ({"retry_on": Busy}, ExceptionGroup("several", [Busy(), Damaged()]), JobState.FAILED),
        ({"retry_on": Busy}, ExceptionGroup("several", [Busy()]), JobState.SCHEDULED),
        ({}, Damaged(), JobState.SCHEDULED),
    ],
)
async def test_which_errors_are_tried_again(app: Penstock, rule: Any, error: Exception, state: JobState) -> None:
    @app.job(backoff=Backoff(60), **rule)  # type: ignore[untyped-decorator]  # any rule
    async def work() -> None:
        raise error

    @app.job(batch=3, backoff=Backoff(60), **rule)  # type: ignore[untyped-decorator]
    async def several(numbers: list[int]) -> list[Exception]:
        return [error for _ in numbers]

    await work.aenqueue()
    await app.aenqueue(several.prepare(1))
    assert [each.state for each in await app.atick()] == [state] * 2


async def test_a_timeout_is_a_timeout_error(app: Penstock) -> None:
    @app.job(timeout=0.05, no_retry_on=TimeoutError)
    async def hang() -> None:
        await asyncio.Event().wait()

    await hang.aenqueue()
    [result] = await app.atick()
    assert (result.state, result.error) == (JobState.FAILED, "timed out after 0.05 s")


def test_what_is_no_class_of_exceptions_is_refused(app: Penstock) -> None:
    with pytest.raises(InvalidInput, match=r"^no_retry_on: takes classes of exceptions, not 'ValueError'"):
        app.job(no_retry_on="ValueError")(lambda: None)  # type: ignore[call-overload]
    with pytest.raises(InvalidInput, match=r"^retry_on: is a choice of @app\.job"):
        app.job(lambda: None).using(retry_on=ValueError)
