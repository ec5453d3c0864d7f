"""Running a coroutine here and now, as far as it goes without waiting.

Thousands of writes to sockets that have room need no task each, and no turn of the event loop. Python 3.12 has eager
tasks for this; 3.11 does not.
"""

import asyncio
from collections.abc import Coroutine, Generator
from types import coroutine
from typing import Any


def run_now(work: Coroutine[Any, Any, None]) -> asyncio.Task[None] | None:
    """Runs it until it has to wait for something: then a task does the rest. None when it had to wait for nothing."""
    try:
        awaited = work.send(None)
    except StopIteration:
        return None
    return asyncio.get_running_loop().create_task(_go_on(work, awaited))


async def _go_on(work: Coroutine[Any, Any, None], awaited: object) -> None:
    await _rest(work, awaited)


@coroutine
def _rest(work: Coroutine[Any, Any, None], awaited: object) -> Generator[Any, Any, None]:
    """What it waits for is passed on to the event loop, and what comes of that is passed back."""
    while True:
        error, result = None, None
        try:
            result = yield awaited
        except BaseException as raised:
            error = raised
        try:
            awaited = work.send(result) if error is None else work.throw(error)
        except StopIteration:
            return
