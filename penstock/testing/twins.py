"""The sync faces of async calls."""

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any, TypeVar

from penstock.errors import PenstockError

T = TypeVar("T")


def run_here(twin: str, start: Callable[[], Coroutine[Any, Any, T]]) -> T:
    """Runs it on an event loop of its own; `twin` is what to call where one runs already."""
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return asyncio.run(start())
    raise PenstockError(f"an event loop is running here: use `await {twin}(…)`")
