"""How a run ended, as a value for the completer."""

import asyncio
import time
import traceback

import msgspec

from penstock.backoff import RetryRule
from penstock.engine.commands import AttemptError
from penstock.errors import CallFailed, InvalidInput, ReplayMismatch, StaleArguments, StorageFull
from penstock.json import clean, encode_output
from penstock.outcome import OUTCOMES, Cancel, Fail, OtherVersion, Outcome, Snooze, Suspended
from penstock.worker.run import Run, Stop

_LONGEST_TRACEBACK = 16_000


class Succeeded(msgspec.Struct, frozen=True, gc=False):
    output: bytes | None = None


class Failed(msgspec.Struct, frozen=True):
    error: AttemptError
    raised: BaseException | None = None
    """For the log; it does not leave the process."""


class Snoozed(msgspec.Struct, frozen=True, gc=False):
    seconds: float


class Cancelled(msgspec.Struct, frozen=True, gc=False):
    reason: str


class Released(msgspec.Struct, frozen=True, gc=False):
    """Unfinished, to be run again at no cost of an attempt."""


class Parked(msgspec.Struct, frozen=True, gc=False):
    """Not known to this worker, its kind or its arguments: left to one that knows it, at no cost of an attempt."""

    reason: str


class Settled(msgspec.Struct, frozen=True, gc=False):
    """Nothing to report: the handler's own transaction completed the job, it waits for something, or it is no longer
    this worker's."""


Ending = Succeeded | Failed | Snoozed | Cancelled | Released | Parked | Settled

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
        case Suspended():
            return Settled()
        case OtherVersion(reason):
            return Parked(clean(reason))
    try:
        return Succeeded(encode_output(result))
    except InvalidInput as error:
        return Failed(AttemptError(f"its result cannot be stored: {error}", type(error).__name__, final=True))


def ending_of_raised(error: BaseException, retry: RetryRule | None = None) -> Ending:
    """What it means that a handler raised this: an outcome or a failure."""
    if isinstance(error, StorageFull):
        # another attempt would not fit either, and its owner can do something about it: they may read why
        return Failed(AttemptError(clean(str(error)), type(error).__name__, final=True), error)
    outcome = outcome_raised(error)
    if outcome is None:
        # another attempt would meet the same
        final = isinstance(error, ReplayMismatch | CallFailed) or (retry is not None and retry.is_final(error))
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
    text = clean("".join(traceback.format_exception(error)))
    if len(text) > _LONGEST_TRACEBACK:
        half = _LONGEST_TRACEBACK // 2
        text = f"{text[:half]}\n… {len(text) - 2 * half:,} characters left out …\n{text[-half:]}"
    name = type(error).__name__
    return Failed(AttemptError(clean(_told(error)) or name, name, traceback=text, final=final), error)


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
            return Failed(AttemptError(told, "BudgetSpent"))
        case Stop.LOST:
            return Settled()
        case None:
            # nobody told it to: something inside the handler was cancelled
            return failure(error)
