"""What an engine raises that is nobody's mistake: each engine knows its own, and whoever works with one asks it."""

from collections.abc import Callable
from dataclasses import dataclass


def no_answer(error: BaseException) -> bool:
    return isinstance(error, ConnectionError | TimeoutError)


@dataclass(frozen=True, slots=True)
class Faults:
    """Without more to say, those of any network."""

    passing: tuple[type[Exception], ...] = (OSError,)
    """It may go well the next time. Whether it has done what it was asked to is not known."""
    unstorable: tuple[type[Exception], ...] = (ValueError, TypeError)
    """What a value raises that the engine, or the text on its way there, cannot hold."""
    is_lost: Callable[[BaseException], bool] = no_answer
    """Whether a passing fault means that the engine is away, which is said once for all, where it is noticed."""
