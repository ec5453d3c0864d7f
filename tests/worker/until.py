"""Waiting for what nothing tells of: rows that another process writes, a connection that ends."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import TypeVar

T = TypeVar("T")


async def until(condition: Callable[[], Awaitable[T]], within: float = 20.0) -> T:
    """Returns what the condition gives as soon as that is true; fails the test when it is not in time."""
    loop = asyncio.get_running_loop()
    deadline = loop.time() + within
    while not (found := await condition()):
        assert loop.time() < deadline, "it has not happened"
        await asyncio.sleep(0.005)
    return found


async def soon(what: Awaitable[T], within: float = 20.0) -> T:
    """Waits for it, but not for ever."""
    return await asyncio.wait_for(what, within)
