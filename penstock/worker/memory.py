"""Ends a worker gently when its process takes too much memory."""

import asyncio
import logging
import re

from penstock.engine.loop import Loop
from penstock.errors import InvalidInput
from penstock.worker.process_memory import resident_bytes
from penstock.worker.worker import Worker

log = logging.getLogger("penstock.worker")

EVERY = 2.0
"""Seconds between two looks."""

_UNITS = {"": 1, "K": 10**3, "M": 10**6, "G": 10**9, "KI": 2**10, "MI": 2**20, "GI": 2**30}


def bytes_given(text: str) -> int:
    """500MB, 2GiB, or a number of bytes."""
    match = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*([KMG]I?)?B?\s*", text, re.IGNORECASE)
    number = int(float(match[1]) * _UNITS[(match[2] or "").upper()]) if match else 0
    if number < 1:
        raise InvalidInput("max-memory", f"{text!r}: write it as 500MB or 2GiB")
    return number


class MemoryWatch(Loop):
    """Stops the worker when its process has grown too large: what runs may finish, then another takes its place."""

    name = "memory"

    def __init__(self, worker: Worker, most: int) -> None:
        super().__init__()
        self._worker = worker
        self._most = most
        worker.limit_handlers(most)

    async def run(self) -> None:
        await self._worker.ready.wait()
        while not self._worker.stopping:
            size = resident_bytes()
            if size > self._most:
                megabytes, most = size // 10**6, self._most // 10**6
                log.info("%d MB of memory, of %d at most: a fresh process takes over", megabytes, most)
                self._worker.recycle()
                return
            await asyncio.sleep(EVERY)
