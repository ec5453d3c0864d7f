"""How a handler may end other than by a result or an error: returned, or raised from anywhere inside it.

They are no Exceptions, as a cancellation is none: a handler that catches those lets them pass.
"""

from dataclasses import dataclass


@dataclass(unsafe_hash=True)
class Snooze(BaseException):
    """Look again in so many seconds, without holding a worker and at no cost of an attempt: raise Snooze(30)."""

    seconds: float

    def __post_init__(self) -> None:
        self.args = (self.seconds,)


@dataclass(unsafe_hash=True)
class Cancel(BaseException):
    """End as cancelled: raise Cancel("nobody needs it any more")."""

    reason: str = "cancelled by its handler"

    def __post_init__(self) -> None:
        self.args = (self.reason,)


@dataclass(unsafe_hash=True)
class Fail(BaseException):
    """Fail for good, without a retry: raise Fail("the file is damaged"). The reason is shown to the job's owner."""

    reason: str

    def __post_init__(self) -> None:
        self.args = (self.reason,)


Outcome = Snooze | Cancel | Fail
OUTCOMES = (Snooze, Cancel, Fail)
