"""An event loop of its own for a call that is not async."""

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any, TypeVar

from penstock.errors import PenstockError

T = TypeVar("T")


def run_here(call: str, twin: str, start: Callable[[], Coroutine[Any, Any, T]]) -> T:
    """Runs it on an event loop of its own; `twin` is what to call instead of `call` where one runs already."""
    if _loop_runs():
        raise PenstockError(f"{call}() cannot run inside an event loop: write `await {twin}()` there")
    # not where the error is caught that says so: whatever a job raises would begin with that
    return asyncio.run(start())


def _loop_runs() -> bool:
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return False
    return True
