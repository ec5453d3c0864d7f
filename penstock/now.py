"""Running a coroutine that never waits: how what was written once for event loops also serves code without one."""

from collections.abc import Awaitable
from typing import TypeVar, cast

T = TypeVar("T")


def run_now(awaitable: Awaitable[T]) -> T:
    """What it returns or raises. Everything it awaits must block instead of waiting for an event loop."""
    steps = awaitable.__await__()
    try:
        next(steps)
    except StopIteration as end:
        return cast(T, end.value)
    raise RuntimeError("this coroutine waits for an event loop")
