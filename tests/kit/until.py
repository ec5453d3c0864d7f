"""Waiting for what nothing tells of: rows that another process writes, a connection that ends.

`await until(condition)` in async code, `wait_until(condition)` elsewhere. Whoever is told, by an event or a future,
waits for that instead: `await soon(event.wait())`.
"""

import asyncio
import inspect
import time
from collections.abc import Awaitable, Callable
from typing import Any, TypeVar, overload

T = TypeVar("T")
What = str | Callable[[], str]
"""The words of a failure, or what makes them then."""

WITHIN = 20.0
"""Seconds: far more than anything takes here, for the machine may have other work."""

EVERY = 0.005
"""Seconds between two looks at first."""
LATER = 0.03
"""Of the time that it waits already, when that is longer: a look takes milliseconds of a processor that others need,
and whoever waits for two seconds would take hundreds of them."""


@overload
async def until(
    condition: Callable[[], Awaitable[T]],
    within: float = WITHIN,
    *,
    so: Callable[[T], object] = bool,
    every: float = EVERY,
    what: What = "",
) -> T: ...
@overload
async def until(
    condition: Callable[[], T],
    within: float = WITHIN,
    *,
    so: Callable[[T], object] = bool,
    every: float = EVERY,
    what: What = "",
) -> T: ...
async def until(
    condition: Callable[[], Any],
    within: float = WITHIN,
    *,
    so: Callable[[Any], object] = bool,
    every: float = EVERY,
    what: What = "",
) -> Any:
    """Returns what the condition gives as soon as that is true, or is `so`; fails the test when it is not in time.

    The failure says what was waited for, in the words of `what` or of the condition itself, and what there was instead.
    """
    __tracebackhide__ = True
    began = time.monotonic()
    while True:
        found = condition()
        if inspect.isawaitable(found):
            found = await found
        if so(found):
            return found
        await asyncio.sleep(_pause(began, every, condition, found, within, what))


def wait_until(
    condition: Callable[[], T | None], within: float = WITHIN, *, every: float = EVERY, what: What = ""
) -> T:
    """The same for code without an event loop: it blocks its thread."""
    __tracebackhide__ = True
    began = time.monotonic()
    while not (found := condition()):
        time.sleep(_pause(began, every, condition, found, within, what))
    return found


async def soon(awaited: Awaitable[T], within: float = WITHIN) -> T:
    """Waits for it, but not for ever."""
    __tracebackhide__ = True
    try:
        async with asyncio.timeout(within) as limit:
            return await awaited
    except TimeoutError:
        if limit.expired():
            raise AssertionError(f"not within {within:g} s: {awaited!r}") from None
        raise


def _pause(
    began: float, every: float, condition: Callable[[], object], found: object, within: float, what: What
) -> float:
    """Seconds until the next look, if there is time for one."""
    __tracebackhide__ = True
    waited = time.monotonic() - began
    if waited > within:
        wanted = what() if callable(what) else what or _text(condition)
        raise AssertionError(f"not within {within:g} s: {wanted} (the last look gave {found!r})")
    return max(every, LATER * waited)


def _text(condition: Callable[[], object]) -> str:
    """A function by its name; a lambda, which has none, by the lines it stands in."""
    name = str(getattr(condition, "__qualname__", condition))
    if not name.endswith("<lambda>"):
        return name
    try:
        return " ".join(inspect.getsource(condition).split())
    except OSError:
        return name
