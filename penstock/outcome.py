"""How a handler may end other than by returning a result or raising."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Snooze:
    """Look again in so many seconds, without holding a worker and at no cost of an attempt."""

    seconds: float


@dataclass(frozen=True, slots=True)
class Cancel:
    """End as cancelled."""

    reason: str = "cancelled by its handler"


@dataclass(frozen=True, slots=True)
class Fail:
    """Fail for good: no retry."""

    reason: str


Outcome = Snooze | Cancel | Fail


class EndWith(BaseException):
    """Ends a handler with an outcome from deep inside it. Like a cancellation it is no Exception, so that a handler
    which catches those lets it pass."""

    def __init__(self, outcome: Outcome) -> None:
        super().__init__(outcome)
        self.outcome = outcome
