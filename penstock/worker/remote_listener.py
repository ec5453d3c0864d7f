"""Hears of work and of cancellations over the API: a heartbeat whose answer is kept back until there is something to
tell, and then the next one."""

import asyncio
import time
from collections.abc import Callable
from contextlib import suppress
from typing import TypeVar
from uuid import UUID

from penstock.engine import calls
from penstock.engine.call import Call
from penstock.engine.http import RemoteEngine
from penstock.engine.http.messages import LONGEST_WAIT, Beat
from penstock.engine.http.requests import extended
from penstock.errors import LeaseLost
from penstock.job import Lease
from penstock.worker.loop import Loop

T = TypeVar("T")

_IDLE_SHARE = 0.8
_BUSY_SHARE = 0.25
"""Of the lease's length, how long a heartbeat may wait for its answer, which tells that it was extended."""

_FIRST_ANSWER = 3.0
_LOST = 0.2


class RemoteListener(Loop):
    """The twin of Listener where there is no database connection to listen on."""

    name = "listener"

    def __init__(
        self,
        engine: RemoteEngine,
        *,
        wake: Callable[[], None],
        heard: Callable[[calls.Extended], None],
        missed: Callable[[], None],
        busy: Callable[[], bool],
    ) -> None:
        super().__init__()
        self.connected: object = None
        """What a registration is worth: after a fault the server may have forgotten it."""
        self.heard_at = 0.0
        """When the last heartbeat was sent that had an answer: since then the lease is good for its length."""
        self._engine = engine
        self._wake = wake
        self._heard = heard
        self._missed = missed
        self._busy = busy
        self._lease = Lease(0)
        self._length = 30.0
        self._queues: set[str] = set()
        self._told: list[UUID] = []
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
                    self._wake()
                    self._missed()
                raise
            if told is not None and lease == self._lease:
                self._take(told, sent_at)
                if not told.alive:
                    await asyncio.sleep(_LOST)

    async def _unless_changed(self) -> Beat | None:
        """The answer to a heartbeat; None when the lease is another one meanwhile."""
        asking = asyncio.create_task(
            self._engine.beat(self._lease, queues=sorted(self._queues), told=self._told, wait=self._wait())
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
        return min(LONGEST_WAIT, self._length * (_BUSY_SHARE if self._busy() else _IDLE_SHARE))

    def _take(self, told: Beat, sent_at: float) -> None:
        self._length = told.seconds or self._length
        self._told = told.cancelling
        self.heard_at = sent_at
        self._heard(extended(told))
        if self.connected is None:
            self.connected = object()
            self._settled.set()
            self._wake()
            if self._been_connected:
                self._missed()
            self._been_connected = True
        elif told.wake:
            self._wake()

    async def settle(self) -> None:
        """Waits for the first answer; not long, for the API may be away."""
        with suppress(TimeoutError):
            async with asyncio.timeout(_FIRST_ANSWER):
                await self._settled.wait()

    async def run_call(self, call: Call[T]) -> T:
        return await self._engine.arun(call)

    async def register(self, queue: str) -> float | None:
        """Asks to be woken for a queue; in how many seconds to look again all the same, if that is known."""
        again = None
        asked: Lease | None = None
        while asked != self._lease:  # which may be another one meanwhile
            asked = self._lease
            try:
                again = await self._engine.arun(calls.wait_for_work(asked, [queue]))
            except (OSError, LeaseLost):
                return None  # found out and seen to elsewhere
        self._queues.add(queue)
        return again

    async def unregister(self, queue: str) -> None:
        self._queues.discard(queue)
        await self._engine.arun(calls.stop_waiting(self._lease, [queue]))

    async def unregister_all(self) -> None:
        self._queues.clear()
        await self._engine.arun(calls.stop_waiting(self._lease))
