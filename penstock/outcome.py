"""How a handler may end other than by a result or an error: returned, or raised from anywhere inside it.

They are no Exceptions, as a cancellation is none: a handler that catches those lets them pass.
"""

from dataclasses import dataclass


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
