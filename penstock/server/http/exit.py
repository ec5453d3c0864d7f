"""Notices that the server which runs this application is about to stop: it waits for every open stream to end first.

uvicorn tells an application so only when all its connections are closed, and a mounted application never. But whoever
handles the signal knows: with uvicorn that is its server, which says `should_exit`.
"""

import asyncio
import signal
from collections.abc import Callable

from penstock.engine.loop import Loop

_EVERY = 0.25


class Exit(Loop):
    name = "watching for the server's end"

    def __init__(self, leave: Callable[[], None]) -> None:
        super().__init__()
        self._leave = leave
        self._started = False

    def ensure(self) -> None:
        if not self._started:
            self._started = True
            self.start()

    async def run(self) -> None:
        while not server_stops():  # noqa: ASYNC110 - a signal sets no event
            await asyncio.sleep(_EVERY)
        self._leave()


def server_stops() -> bool:
    handlers = (signal.getsignal(number) for number in (signal.SIGTERM, signal.SIGINT))
    return any(getattr(getattr(each, "__self__", None), "should_exit", False) for each in handlers)
