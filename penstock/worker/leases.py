"""Keeps the worker's lease: one small statement now and then keeps all its jobs, and tells which of them to stop."""

import asyncio
import logging
import os
import socket
import time
from collections.abc import Callable, Sequence
from uuid import UUID

from penstock.engine import commands
from penstock.engine.loop import Loop
from penstock.engine.protocol import Engine, Hears
from penstock.job import Lease

log = logging.getLogger("penstock.worker")

BUSY_SHARE = 1 / 3
IDLE_SHARE = 0.8
"""An idle worker has nothing to lose: if its lease runs out it opens another. Fifty at 30 s ask twice a second."""

_WITHOUT_NOTIFICATIONS = 0.5
"""Seconds between looks for cancelled jobs where no notification tells of them."""


class Leases(Loop):
    name = "lease"

    def __init__(
        self,
        engine: Engine,
        listener: Hears,
        *,
        queues: Sequence[str],
        name: str,
        seconds: float | None,
        busy: Callable[[], bool],
        cancel: Callable[[UUID], None],
        lost: Callable[[Lease], None],
        kinds: Sequence[str] | None = None,
    ) -> None:
        super().__init__(engine.faults)
        self.lease = Lease(0)
        self.leading = asyncio.Event()
        self._engine = engine
        self._listener = listener
        self._queues = queues
        self._kinds = kinds
        self._worker = name
        self._seconds = seconds
        self.length = seconds or 30.0
        self._busy = busy
        self._cancel = cancel
        self._lost = lost
        self._at_once = asyncio.Event()

    async def open(self) -> None:
        await self._take()
        await self._extend()

    async def _take(self) -> None:
        command = commands.OpenLease(
            self._worker, seconds=self._seconds, queues=self._queues, host=socket.gethostname(), pid=os.getpid(),
            kinds=self._kinds,
        )  # fmt: skip
        self.lease = await self._engine.arun(command)

    def check_at_once(self) -> None:
        """Somebody was told that the lease is gone."""
        self._at_once.set()

    async def run(self) -> None:
        while True:
            await self._extend()
            await self.pause()

    async def pause(self) -> None:
        """Until the lease is to be extended again: since the last time, or since the listener did by the way."""
        since = time.monotonic()
        while not self._at_once.is_set():
            length = self.length * (BUSY_SHARE if self._busy() else IDLE_SHARE)
            if self._busy() and not self._listener.listening:
                length = min(length, _WITHOUT_NOTIFICATIONS)
            left = max(since, self._listener.heard_at) + length - time.monotonic()
            if left <= 0:
                break
            # looks up now and then: an idle worker may have become a busy one
            look_up = self.length * BUSY_SHARE / 4 if self._listener.listening else _WITHOUT_NOTIFICATIONS
            try:
                async with asyncio.timeout(min(left, look_up)):
                    await self._at_once.wait()
            except TimeoutError:
                continue
        self._at_once.clear()

    def hear(self, extended: commands.Extended) -> None:
        """What the listener was told when it extended the lease."""
        if extended.alive:
            self._take_note(extended)
        else:
            self.check_at_once()

    async def _extend(self) -> None:
        extended = await self._listener.run_command(commands.ExtendLease(self.lease))
        if not extended.alive:
            await self._start_over()
            return
        self._take_note(extended)

    def _take_note(self, extended: commands.Extended) -> None:
        self.length = extended.seconds or self.length
        for id in extended.cancelling:
            self._cancel(id)
        if extended.leads:
            self.leading.set()

    async def _start_over(self) -> None:
        """The worker was gone too long, its jobs belong to others: stops their handlers and takes a new lease."""
        lost = self.lease
        log.warning("lease %s was lost: its jobs go to other workers", lost)
        self.leading.clear()
        await self._take()
        # before anything else happens: what is claimed from here on belongs to the new one
        self._lost(lost)
        # as a rule somebody has; not when its row was deleted by hand
        await self._engine.arun(commands.ExpireLease(lost))
        await self._extend()
