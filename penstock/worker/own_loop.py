"""An event loop of its own for a call that is not async."""

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any, TypeVar

from penstock.errors import PenstockError

T = TypeVar("T")


def run_here(start: Callable[[], Coroutine[Any, Any, T]], otherwise: str) -> T:
    """Runs it on an event loop of its own; `otherwise` says what to write where one runs already."""
    if _loop_runs():
        raise PenstockError(otherwise)
    # not where the error is caught that says so: whatever a job raises would begin with that
    return asyncio.run(start())


def _loop_runs() -> bool:
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return False
    return True
