"""Hears of work as BullMQ's workers do, by a queue's marker, and of jobs to stop by a list of the lease's own. Each
waits on a connection of its own."""

import asyncio
import time
from contextlib import suppress
from typing import TYPE_CHECKING, Any, TypeVar
from uuid import UUID

from penstock.engine.bullmq.leases import stop_list
from penstock.engine.bullmq.queues import look_again_in
from penstock.engine.bullmq.session import Session
from penstock.engine.commands.command import Command
from penstock.engine.loop import Loop
from penstock.engine.protocol import Ears
from penstock.job import Lease

if TYPE_CHECKING:
    from penstock.engine.bullmq.engine import BullmqEngine

T = TypeVar("T")

_LONGEST = 5.0
"""Seconds that one wait takes at most, after which the queue is looked at all the same: as BullMQ's workers do it."""

_SHORTEST = 0.01

_LEAVE = 1.0
"""Seconds that the end of a wait may take."""


class _Ear(Loop):
    """Waits for one key, again and again."""

    name = "listener"

    def __init__(self, engine: "BullmqEngine", session: Session) -> None:
        super().__init__(engine.faults)
        self._session = session
        self._client: Any = None

    async def run(self) -> None:
        self._client = self._session.connect(timeout=_LONGEST + 10)
        try:
            while True:
                await self.hear()
        finally:
            with suppress(Exception):
                await self._client.aclose()

    async def hear(self) -> None:
        raise NotImplementedError


class _Marker(_Ear):
    """A marker is there when a queue may have work; one with a time, when that is due."""

    def __init__(self, engine: "BullmqEngine", session: Session, queue: str, ears: Ears) -> None:
        super().__init__(engine, session)
        self._queue = queue
        self._ears = ears
        self._marked = 0.0
        self._popping: asyncio.Task[Any] | None = None

    async def hear(self) -> None:
        # what the marker said is kept apart: a claim that was under way knows of nothing due, and says so afterwards
        due = min((at for at in (self._session.due.get(self._queue), self._marked) if at), default=0.0)
        left = due - time.time() if due else _LONGEST
        seconds = min(max(left, _SHORTEST), _LONGEST)
        if self._popping is None:
            marker = self._session.keys(self._queue)["marker"]
            self._popping = asyncio.create_task(self._client.bzpopmin(marker, timeout=_LONGEST))
        try:
            # by a clock of our own: Redis looks ten times a second whose timeout is over
            await asyncio.wait({self._popping}, timeout=seconds)
        except asyncio.CancelledError:
            popping, self._popping = self._popping, None
            popping.cancel()
            # it ends its connection, which takes the loop; whoever leaves waits no longer for a Redis that hangs
            await asyncio.wait({popping}, timeout=_LEAVE)
            raise
        told = None
        if self._popping.done():
            popped, self._popping = self._popping, None
            told = popped.result()
        if told is not None and float(told[2]) > 0:
            self._marked = float(told[2]) / 1000
            return
        if due and due <= time.time():
            self._session.due.pop(self._queue, None)
            self._marked = 0.0
        self._ears.wake()


class _Stops(_Ear):
    def __init__(self, engine: "BullmqEngine", session: Session, lease: Lease, ears: Ears) -> None:
        super().__init__(engine, session)
        self._lease = lease
        self._ears = ears

    async def hear(self) -> None:
        told = await self._client.blpop([stop_list(self._session, self._lease)], timeout=_LONGEST)
        if told is not None:
            self._ears.cancel(UUID(told[1]))


class BullmqListener:
    def __init__(self, engine: "BullmqEngine", ears: Ears) -> None:
        self.heard_at = 0.0
        self.connected: object = None
        self._engine = engine
        self._ears = ears
        self._lease = Lease(0)
        self._markers: dict[str, _Marker] = {}
        self._stops: _Stops | None = None

    @property
    def lease(self) -> Lease:
        return self._lease

    @lease.setter
    def lease(self, lease: Lease) -> None:
        self._lease = lease
        if self._stops is not None:
            earlier, self._stops = self._stops, None
            self._leaving = asyncio.ensure_future(earlier.stop())
            self._listen_for_stops()

    @property
    def listening(self) -> bool:
        return self.connected is not None

    def start(self) -> None:
        self.connected = object()
        self._listen_for_stops()

    def _listen_for_stops(self) -> None:
        self._stops = _Stops(self._engine, self._engine.session(), self._lease, self._ears)
        self._stops.start()

    async def settle(self) -> None:
        """Whether it hears is known at once: the lease was opened over the same way."""

    async def register(self, queue: str) -> float | None:
        session = self._engine.session()
        if queue not in self._markers:
            self._markers[queue] = marker = _Marker(self._engine, session, queue, self._ears)
            marker.start()
        return await look_again_in(session, queue)

    async def unregister(self, queue: str) -> None:
        marker = self._markers.pop(queue, None)
        if marker is not None:
            await marker.stop()

    async def unregister_all(self) -> None:
        for queue in list(self._markers):
            await self.unregister(queue)

    async def stop(self) -> None:
        await self.unregister_all()
        if self._stops is not None:
            await self._stops.stop()
        self.connected = None

    async def run_command(self, command: Command[T], /) -> T:
        return await self._engine.arun(command)
