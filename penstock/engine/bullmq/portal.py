"""An event loop in a thread of its own, for callers that have none."""

import asyncio
import os
import threading
from collections.abc import Coroutine
from concurrent.futures import CancelledError
from typing import Any, TypeVar

from penstock.errors import PenstockError

T = TypeVar("T")


class Portal:
    """Made when it is first used, and again in a process that was forked."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._running: tuple[int, asyncio.AbstractEventLoop, threading.Thread] | None = None

    def run(self, coroutine: Coroutine[Any, Any, T]) -> T:
        try:
            return asyncio.run_coroutine_threadsafe(coroutine, self._loop()).result()
        except CancelledError:
            raise PenstockError("Redis was waited for until the application was closed") from None

    @property
    def open(self) -> bool:
        return self._running is not None and self._running[0] == os.getpid()

    def _loop(self) -> asyncio.AbstractEventLoop:
        with self._lock:
            if self._running is None or self._running[0] != os.getpid():
                loop = asyncio.new_event_loop()
                thread = threading.Thread(target=loop.run_forever, name="penstock redis", daemon=True)
                thread.start()
                self._running = os.getpid(), loop, thread
            return self._running[1]

    def close(self) -> None:
        with self._lock:
            running, self._running = self._running, None
        if running is not None and running[0] == os.getpid():
            _, loop, thread = running
            # a thread that waits here for Redis would wait for ever, and its process with it
            asyncio.run_coroutine_threadsafe(_end_all(), loop).result()
            loop.call_soon_threadsafe(loop.stop)
            thread.join()
            loop.close()


async def _end_all() -> None:
    others = asyncio.all_tasks() - {asyncio.current_task()}
    for task in others:
        task.cancel()
    await asyncio.gather(*others, return_exceptions=True)
