"""Keeps the lease of a worker over the API: the listener's heartbeats do, and this sees to it when they come late."""

import asyncio
import time

from penstock.engine import calls
from penstock.worker.leases import BUSY_SHARE, Leases
from penstock.worker.remote_listener import RemoteListener


class RemoteLeases(Leases):
    _listener: RemoteListener

    def hear(self, extended: calls.Extended) -> None:
        """What a heartbeat of the listener's was answered."""
        if extended.alive:
            self._take_note(extended)
        else:
            self.check_at_once()

    async def _pause(self) -> None:
        """An idle worker has nothing to lose. A busy one must know in time that its heartbeats do not get through, or
        that it became busy while one of an idle worker's was under way."""
        since = time.monotonic()
        while not self._at_once.is_set():
            length = self._length * BUSY_SHARE
            if self._busy() and time.monotonic() - max(since, self._listener.heard_at) > length:
                break
            try:
                async with asyncio.timeout(length / 4):
                    await self._at_once.wait()
            except TimeoutError:
                continue
        self._at_once.clear()
