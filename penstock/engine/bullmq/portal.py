"""An event loop in a thread of its own, for callers that have none."""

import asyncio
import os
import threading
from collections.abc import Coroutine
from typing import Any, TypeVar

T = TypeVar("T")


class Portal:
    """Made when it is first used, and again in a process that was forked."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._running: tuple[int, asyncio.AbstractEventLoop, threading.Thread] | None = None

    def run(self, coroutine: Coroutine[Any, Any, T]) -> T:
        return asyncio.run_coroutine_threadsafe(coroutine, self._loop()).result()

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
            loop.call_soon_threadsafe(loop.stop)
            thread.join()
            loop.close()
