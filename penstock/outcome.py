"""How a handler may end other than by a result or an error: by an outcome, returned or raised from anywhere inside it.

Outcomes are not Exceptions, just as asyncio's CancelledError is not one: `except Exception` lets them pass. What
@app.on_failure and @app.on_end are told is here, too.
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
    """Why a job was given up, or why an attempt at it failed.

    `exception` is what the handler raised in this process; None after a timeout, a Fail, or in another process.
    `error_type` is the exception's name wherever it was raised; "Fail" and "Timeout" are among them. Where nothing was
    raised it is "Snoozed" or "Parked" (too often, too long), "FlowFailed" (a flow whose jobs failed), or "WorkerLost".

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

    `waited` is the seconds from enqueueing to the first run, delays included; None for later runs. `ran` is the seconds
    that the handler took; None for a run that was given back before it began.

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
