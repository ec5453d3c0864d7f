"""Whether to try again after an error, and how long to wait before."""

import random
from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Literal

from penstock.errors import InvalidInput

Shape = Literal["exponential", "linear", "constant"]


@dataclass(frozen=True, slots=True)
class Backoff:
    """Seconds to wait after the nth attempt failed: base · factorⁿ⁻¹, at most cap, spread by ±jitter.

    The engine computes the same in SQL (`backoff_delay`) from the JSON of this value.

    ```python
    @app.job(max_attempts=8, backoff=Backoff(60, cap=3600, jitter=0.2))  # after about 1, 2, 4 … minutes
    def fetch(address: str) -> None: ...

    assert Backoff(60, jitter=0).delay(3) == 240
    ```
    """

    base: float = 5.0
    cap: float = 3600.0
    factor: float = 2.0
    jitter: float = 0.1
    shape: Shape = "exponential"

    def __post_init__(self) -> None:
        # a factor of 100 over 60 steps is still far within what a double holds
        for name, least, most in (("base", 0, 1e10), ("cap", 0, 1e10), ("factor", 1, 100), ("jitter", 0, 1)):
            number = getattr(self, name)
            if not isinstance(number, int | float) or not least <= number <= most:
                raise InvalidInput(name, f"must be a number between {least:g} and {most:g}, not {number!r}")
        if self.shape not in ("exponential", "linear", "constant"):
            raise InvalidInput("shape", f"{self.shape!r} is none of exponential, linear, constant")

    @classmethod
    def linear(cls, base: float, *, cap: float = 3600.0, jitter: float = 0.0) -> "Backoff":
        """base, 2·base, 3·base…"""
        return cls(base, cap=cap, jitter=jitter, shape="linear")

    @classmethod
    def constant(cls, seconds: float, *, jitter: float = 0.0) -> "Backoff":
        """The same wait every time, as a visibility timeout gives."""
        return cls(seconds, cap=seconds, jitter=jitter, shape="constant")

    def delay(self, attempt: int, *, dice: Callable[[], float] = random.random) -> float:
        """Seconds to wait after this attempt (1 is the first) failed."""
        steps = max(attempt, 1) - 1
        match self.shape:
            case "constant":
                delay = self.base
            case "linear":
                delay = self.base * (steps + 1)
            case "exponential":
                delay = self.base * self.factor ** min(steps, 60)
        return min(delay, self.cap) * (1 + self.jitter * (2 * dice() - 1))

    def to_json(self) -> dict[str, float | str]:
        """As the engine reads it."""
        return asdict(self)


Errors = type[BaseException] | tuple[type[BaseException], ...]


@dataclass(frozen=True, slots=True)
class RetryRule:
    """`only` these are tried again, None for all; `never` these, whatever `only` says."""

    only: tuple[type[BaseException], ...] | None
    never: tuple[type[BaseException], ...]

    @classmethod
    def of(cls, retry_on: Errors | None, no_retry_on: Errors) -> "RetryRule | None":
        """None when every error is tried again."""
        only = None if retry_on is None else _classes("retry_on", retry_on)
        never = _classes("no_retry_on", no_retry_on)
        return cls(only, never) if never or only is not None else None

    def is_final(self, error: BaseException) -> bool:
        """Whether the job has failed for good: of a group it is enough that one of its errors says so."""
        if isinstance(error, BaseExceptionGroup):
            return any(self.is_final(each) for each in error.exceptions)
        return isinstance(error, self.never) or not (self.only is None or isinstance(error, self.only))


def _classes(name: str, given: object) -> tuple[type[BaseException], ...]:
    classes = given if isinstance(given, tuple) else (given,)
    for each in classes:
        if not isinstance(each, type) or not issubclass(each, BaseException):
            raise InvalidInput(name, f"takes classes of exceptions, not {each!r}")
    return classes
