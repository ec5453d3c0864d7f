"""Hears of work and of cancellations over the API: a heartbeat whose answer is kept back until there is something to
tell, and then the next one."""

import asyncio
import time
from collections.abc import Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, TypeVar
from uuid import UUID

from penstock.engine.commands import StopWaiting, WaitForWork
from penstock.engine.commands.command import Command
from penstock.engine.http.sent import LONGEST_WAIT, Beat, Beaten
from penstock.engine.loop import Loop
from penstock.engine.protocol import Ears
from penstock.errors import LeaseLost
from penstock.job import Lease

if TYPE_CHECKING:
    from penstock.engine.http.client import HttpEngine

T = TypeVar("T")

_IDLE_SHARE = 0.8
_BUSY_SHARE = 0.25
"""Of the lease's length, how long a heartbeat may wait for its answer, which tells that it was extended."""

_FIRST_ANSWER = 3.0
_LOST = 0.2


class HttpListener(Loop):
    """Where there is no database connection to listen on."""

    name = "listener"

    def __init__(self, engine: "HttpEngine", ears: Ears) -> None:
        super().__init__(engine.faults)
        self.connected: object = None
        """What a registration is worth: after a fault the server may have forgotten it."""
        self.heard_at = 0.0
        """When the last heartbeat was sent that had an answer: since then the lease is good for its length."""
        self._engine = engine
        self._ears = ears
        self._lease = Lease(0)
        self._length = 30.0
        self._queues: set[str] = set()
        self._told: Sequence[UUID] = []
        self._changed = asyncio.Event()
        self._settled = asyncio.Event()
        self._been_connected = False

    @property
    def lease(self) -> Lease:
        return self._lease

    @lease.setter
    def lease(self, lease: Lease) -> None:
        self._lease = lease
        self._queues.clear()
        self._told = []
        self._changed.set()

    @property
    def listening(self) -> bool:
        return self.connected is not None

    async def run(self) -> None:
        while True:
            self._changed.clear()
            lease, sent_at = self._lease, time.monotonic()
            try:
                told = await self._unless_changed()
            except OSError:
                if self.connected is not None:
                    self.connected = None
                    self._ears.wake()
                    self._ears.missed()
                raise
            if told is not None and lease == self._lease:
                self._take(told, sent_at)
                if not told.alive:
                    await asyncio.sleep(_LOST)

    async def _unless_changed(self) -> Beaten | None:
        """The answer to a heartbeat; None when the lease is another one meanwhile."""
        asking = asyncio.create_task(
            self._engine.arun(Beat(self._lease, self._wait(), sorted(self._queues), self._told))
        )
        changed = asyncio.create_task(self._changed.wait())
        try:
            await asyncio.wait([asking, changed], return_when=asyncio.FIRST_COMPLETED)
            return asking.result() if asking.done() else None
        finally:
            changed.cancel()
            asking.cancel()
            with suppress(asyncio.CancelledError, Exception):
                await asking

    def _wait(self) -> float:
        if self.connected is None:
            return 0.0  # whether it is there at all
        return min(LONGEST_WAIT, self._length * (_BUSY_SHARE if self._ears.busy() else _IDLE_SHARE))

    def _take(self, told: Beaten, sent_at: float) -> None:
        self._length = told.seconds or self._length
        self._told = told.cancelling
        self.heard_at = sent_at
        self._ears.heard(told)
        if self.connected is None:
            self.connected = object()
            self._settled.set()
            self._ears.wake()
            if self._been_connected:
                self._ears.missed()
            self._been_connected = True
        elif told.wake:
            self._ears.wake()

    async def settle(self) -> None:
        """Waits for the first answer; not long, for the API may be away."""
        with suppress(TimeoutError):
            async with asyncio.timeout(_FIRST_ANSWER):
                await self._settled.wait()

    async def run_command(self, command: Command[T], /) -> T:
        return await self._engine.arun(command)

    async def register(self, queue: str) -> float | None:
        """Asks to be woken for a queue; in how many seconds to look again all the same, if that is known."""
        again = None
        asked: Lease | None = None
        while asked != self._lease:  # which may be another one meanwhile
            asked = self._lease
            try:
                again = await self._engine.arun(WaitForWork(asked, [queue]))
            except (OSError, LeaseLost):
                return None  # found out and seen to elsewhere
        self._queues.add(queue)
        return again

    async def unregister(self, queue: str) -> None:
        self._queues.discard(queue)
        await self._engine.arun(StopWaiting(self._lease, [queue]))

    async def unregister_all(self) -> None:
        self._queues.clear()
        await self._engine.arun(StopWaiting(self._lease))
