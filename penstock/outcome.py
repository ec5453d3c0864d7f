"""How a handler may end other than by a result or an error: returned, or raised from anywhere inside it.

They are no Exceptions, as a cancellation is none: a handler that catches those lets them pass. And what those are told
of a job that was given up, and of any run, who asked to be: @app.on_failure, @app.on_end.
"""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Literal

from penstock.job import ClaimedJob


@dataclass(unsafe_hash=True)
class Snooze(BaseException):
    """Look again in so many seconds, without holding a worker and at no cost of an attempt.

    ```python
    @app.job
    def wait_for_payment(order: str, paid: bool = False) -> str:
        if not paid:
            raise Snooze(30)
        return f"{order} is paid"
    ```
    """

    seconds: float

    def __post_init__(self) -> None:
        self.args = (self.seconds,)


@dataclass(unsafe_hash=True)
class Cancel(BaseException):
    """End as cancelled.

    ```python
    @app.job
    def remind(event: str, over: bool = False) -> None:
        if over:
            raise Cancel("nobody needs it any more")
    ```
    """

    reason: str = "cancelled by its handler"

    def __post_init__(self) -> None:
        self.args = (self.reason,)


@dataclass(unsafe_hash=True)
class Fail(BaseException):
    """Fail for good, without a retry. The reason is shown to the job's owner.

    ```python
    @app.job
    def import_file(path: str) -> None:
        if not path.endswith(".csv"):
            raise Fail("only CSV files can be imported")
    ```
    """

    reason: str

    def __post_init__(self) -> None:
        self.args = (self.reason,)


@dataclass(unsafe_hash=True)
class Suspended(BaseException):
    """The job waits for something and comes back: what `ctx.sleep`, `ctx.call` and `ctx.wait_for` end a run with."""

    step: str

    def __post_init__(self) -> None:
        self.args = (self.step,)


@dataclass(unsafe_hash=True)
class OtherVersion(BaseException):
    """The job began with another version of its handler: left to a worker that has it."""

    reason: str

    def __post_init__(self) -> None:
        self.args = (self.reason,)


Outcome = Snooze | Cancel | Fail | Suspended | OtherVersion
OUTCOMES = (Snooze, Cancel, Fail, Suspended, OtherVersion)


@dataclass(frozen=True, slots=True)
class Failure:
    """How a job was given up, or an attempt at it failed, for whoever asked to be told.

    `exception` is what the attempt raised, if it raised here: None for a timeout, Fail, or another process.
    `error_type` is its name wherever it was raised, "Fail" and "Timeout" among them; where nothing was, "Snoozed" or
    "Parked" for too long, "FlowFailed" of a flow's jobs, or "WorkerLost" when nobody was left to raise anything.

    ```python
    @app.on_failure
    def tell(failure: Failure) -> None:
        print(failure.job.kind, failure.job.id, failure.error)
    ```
    """

    job: ClaimedJob
    error: str
    exception: BaseException | None = None
    traceback: str | None = None
    queue: str = "default"
    error_type: str | None = None


FailureHook = Callable[[Failure], Awaitable[None] | None]

RunOutcome = Literal[
    "succeeded", "failed", "retried", "cancelled", "snoozed", "suspended", "released", "parked", "lost"
]


@dataclass(frozen=True, slots=True)
class EndedRun:
    """A run that has ended and was reported, for whoever measures. `failed` is for good, `retried` is not yet;
    `suspended` waits for something, as with `ctx.sleep`.

    `waited` are the seconds from the enqueueing to the first run, delays included; None of later runs. `ran` is None of
    what was given back before it began.

    ```python
    @app.on_end
    def measure(run: EndedRun) -> None:
        print(run.queue, run.job.kind, run.outcome, run.ran)
    ```
    """

    job: ClaimedJob
    queue: str
    outcome: RunOutcome
    waited: float | None
    ran: float | None
    failure: Failure | None = None


EndHook = Callable[[EndedRun], None]
