"""How a run ended: what it means that a handler returned or raised something, and what follows from that. Each ending
says for itself what whoever measures is told, which command reports it, and what a middleware sees of it."""

import asyncio
import time
import traceback
from collections.abc import Hashable, Sequence
from typing import Any, ClassVar

import msgspec

from penstock.backoff import RetryRule
from penstock.engine import commands
from penstock.engine.commands import AttemptError
from penstock.engine.commands.command import Command
from penstock.errors import (
    CallFailed,
    InvalidInput,
    PenstockError,
    ReplayMismatch,
    StaleArguments,
    StorageFull,
    WaitTimeout,
)
from penstock.job import JobState, Lease
from penstock.json import clean, encode_output, loads
from penstock.outcome import OUTCOMES, Cancel, Fail, OtherVersion, Outcome, RunOutcome, Snooze, Suspended
from penstock.worker.run import Run, Stop

_LONGEST_TRACEBACK = 16_000


class Succeeded(msgspec.Struct, frozen=True, gc=False):
    outcome: ClassVar[RunOutcome] = "succeeded"
    output: bytes | None = None

    @staticmethod
    def report(lease: Lease, ended: "Sequence[tuple[Run, Succeeded]]") -> commands.Complete:
        return commands.Complete(lease, [_completed(run, ending.output) for run, ending in ended])

    def result(self) -> Any:
        return None if self.output is None else loads(self.output)


class Failed(msgspec.Struct, frozen=True):
    outcome: ClassVar[RunOutcome] = "retried"
    error: AttemptError
    raised: BaseException | None = None
    """For the log; it does not leave the process."""

    @staticmethod
    def report(lease: Lease, ended: "Sequence[tuple[Run, Failed]]") -> commands.Fail:
        return commands.Fail(
            lease, [commands.FailedAttempt(run.job.id, run.job.claims, ending.error) for run, ending in ended]
        )

    def result(self) -> Fail:
        if self.error.type == "Fail" and self.error.traceback is None:  # an exception of that name has one
            return Fail(self.error.error)
        raise FailedInProcess(f"{self.error.type}: {self.error.error}")


class Snoozed(msgspec.Struct, frozen=True, gc=False):
    outcome: ClassVar[RunOutcome] = "snoozed"
    seconds: float

    @staticmethod
    def report(lease: Lease, ended: "Sequence[tuple[Run, Snoozed]]") -> commands.Snooze:
        return commands.Snooze(
            lease, [commands.Snoozing(run.job.id, run.job.claims, ending.seconds) for run, ending in ended]
        )

    def result(self) -> Snooze:
        return Snooze(self.seconds)


class Cancelled(msgspec.Struct, frozen=True, gc=False):
    outcome: ClassVar[RunOutcome] = "cancelled"
    reason: str

    @staticmethod
    def report(lease: Lease, ended: "Sequence[tuple[Run, Cancelled]]") -> commands.StopCancelled:
        return commands.StopCancelled(lease, [run.job.held for run, _ in ended], ended[0][1].reason)

    def result(self) -> Cancel:
        return Cancel(self.reason)


class Released(msgspec.Struct, frozen=True, gc=False):
    """Unfinished, to be run again at no cost of an attempt."""

    outcome: ClassVar[RunOutcome] = "released"

    @staticmethod
    def report(lease: Lease, ended: "Sequence[tuple[Run, Released]]") -> commands.Release:
        return commands.Release(lease, [run.job.held for run, _ in ended])

    def result(self) -> None:
        return None


class Parked(msgspec.Struct, frozen=True, gc=False):
    """Not known to this worker, its kind or its arguments: left to one that knows it, at no cost of an attempt."""

    outcome: ClassVar[RunOutcome] = "parked"
    reason: str

    @staticmethod
    def report(lease: Lease, ended: "Sequence[tuple[Run, Parked]]") -> commands.Park:
        return commands.Park(
            lease, [commands.Unknown(run.job.id, run.job.claims, ending.reason) for run, ending in ended]
        )

    def result(self) -> OtherVersion:
        return OtherVersion(self.reason)


class NothingToReport(msgspec.Struct, frozen=True, gc=False, kw_only=True):
    """Nothing to report: the handler's own transaction completed the job, or it is no longer this worker's."""

    outcome: ClassVar[RunOutcome] = "succeeded"
    accepted: bool = True
    """False where that transaction was rolled back because another worker has the job by now."""

    @staticmethod
    def report(_lease: Lease, _ended: "Sequence[tuple[Run, NothingToReport]]") -> None:
        return None

    def result(self) -> Suspended | None:
        return None


class Suspending(NothingToReport, frozen=True, gc=False):
    """Nothing to report either: the job waits for something, and is to be run again."""

    outcome: ClassVar[RunOutcome] = "suspended"
    step: str

    def result(self) -> Suspended:
        return Suspended(self.step)


Ending = Succeeded | Failed | Snoozed | Cancelled | Released | Parked | NothingToReport
"""Each has an `outcome`, told of it unless the engine made something else of the job; a `report`, the command for all
that ended alike; and a `result`, what a middleware sees where the handler ran in another process."""


class FailedInProcess(PenstockError):
    """What a middleware sees of an exception that was raised in another process."""


def group_of(ending: Ending) -> Hashable:
    """What one command may report together has the same of this."""
    return (Cancelled, ending.reason) if isinstance(ending, Cancelled) else type(ending)


def report_of(lease: Lease, ended: "Sequence[tuple[Run, Any]]") -> Command[Any] | None:
    """The command for runs that ended alike; None where the engine knows already."""
    first: Ending = ended[0][1]
    return first.report(lease, ended)


def outcome_of(run: Run, ending: Ending) -> RunOutcome:
    """What whoever measures is told of a run that was reported."""
    if run.lost or run.stop is Stop.LOST:
        return "lost"
    return "failed" if run.became is JobState.FAILED else ending.outcome


def _completed(run: Run, output: bytes | None) -> commands.Completed:
    if output is None:
        return commands.Completed(run.job.id, run.job.claims)
    return commands.Completed(run.job.id, run.job.claims, msgspec.Raw(output))


NOTHING = Succeeded()


def ending_of(result: object) -> Ending:
    """What a handler's return value means."""
    if result is None:
        return NOTHING
    match result:
        case Snooze(seconds):
            return Snoozed(max(0.0, float(seconds)))
        case Cancel(reason):
            return Cancelled(clean(str(reason)))
        case Fail(reason):
            return Failed(AttemptError(clean(str(reason)), "Fail", final=True))
        case Suspended(step):
            return Suspending(step)
        case OtherVersion(reason):
            return Parked(clean(reason))
    try:
        return Succeeded(encode_output(result))
    except InvalidInput as error:
        return Failed(AttemptError(f"its result cannot be stored: {error}", type(error).__name__, final=True))


_MET_AGAIN = (ReplayMismatch, CallFailed, WaitTimeout)
"""What another attempt would meet as well: it comes of what is remembered."""


def ending_of_raised(error: BaseException, retry: RetryRule | None = None) -> Ending:
    """What it means that a handler raised this: an outcome or a failure."""
    if isinstance(error, StorageFull):
        # another attempt would not fit either, and its owner can do something about it: they may read why
        return Failed(AttemptError(clean(str(error)), type(error).__name__, final=True), error)
    outcome = outcome_raised(error)
    if outcome is None:
        final = isinstance(error, _MET_AGAIN) or (retry is not None and retry.is_final(error))
        return failure(error, final=final)
    try:
        return ending_of(outcome)
    except (TypeError, ValueError) as senseless:
        return failure(senseless)


def outcome_raised(error: BaseException) -> Outcome | None:
    """The outcome that a handler ended itself with, also from a task group of its own; None for any other exception."""
    ends, others = error.split(OUTCOMES) if isinstance(error, BaseExceptionGroup) else (error, None)
    while isinstance(ends, BaseExceptionGroup):
        ends = ends.exceptions[0]
    return ends if isinstance(ends, OUTCOMES) and others is None else None


def parked(error: StaleArguments) -> Parked:
    return Parked(clean(f"the handler here takes other arguments: {error}"))


def failure(error: BaseException, *, final: bool = False) -> Failed:
    """An attempt's error as it is kept with the job."""
    name = type(error).__name__
    return Failed(AttemptError(clean(_told(error)) or name, name, traceback=_traceback(error), final=final), error)


def timed_out(seconds: float | None, error: BaseException, retry: RetryRule | None) -> Failed:
    """Of a handler that took too long: where it was is what its cancellation tells, which became this error."""
    final = retry is not None and retry.is_final(TimeoutError())
    return _out_of_time(f"timed out after {seconds:g} s", "Timeout", error.__cause__ or error, final)


def _out_of_time(told: str, type: str, stopped: BaseException, final: bool = False) -> Failed:
    where = f"{_traceback(stopped).rstrip()}\n\nTimeoutError: {told}\n"
    return Failed(AttemptError(told, type, traceback=where, final=final))


def _traceback(error: BaseException) -> str:
    text = clean("".join(traceback.format_exception(error)))
    if len(text) > _LONGEST_TRACEBACK:
        half = _LONGEST_TRACEBACK // 2
        text = f"{text[:half]}\n… {len(text) - 2 * half:,} characters left out …\n{text[-half:]}"
    return text


def _told(error: BaseException) -> str:
    try:
        return str(error)
    except Exception:
        return ""  # its own text raises


def ending_of_stopped(run: Run, error: asyncio.CancelledError) -> Ending:
    """What the end of a handler means that was told to stop."""
    match run.stop:
        case Stop.CANCELLED:
            return Cancelled("cancelled")
        case Stop.SHUTDOWN:
            return Released()
        case Stop.BUDGET:
            had = time.monotonic() - run.started
            told = f"did not end within {had:.3g} s, the budget of the tick that ran it"
            return _out_of_time(told, "BudgetSpent", error)
        case Stop.LOST:
            return NothingToReport()
        case None:
            # nobody told it to: something inside the handler was cancelled
            return failure(error)
