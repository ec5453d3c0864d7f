"""Workers over HTTP that wait to be told of work or of a cancellation. However many wait, one connection listens for
all of them, and while nothing happens none of them costs a query."""

import asyncio
import logging
import time
from collections import OrderedDict
from collections.abc import Coroutine, Iterator, Sequence
from contextlib import contextmanager
from typing import Any
from uuid import UUID

import msgspec

from penstock.engine import commands
from penstock.engine.loop import Loop
from penstock.engine.postgres.engine import PostgresEngine
from penstock.engine.postgres.errors import is_lost
from penstock.engine.postgres.listener import Notifications
from penstock.engine.postgres.statement import Statement, first
from penstock.job import Lease

log = logging.getLogger("penstock.server")

OUT_OF_SIGHT = 2.0
"""Seconds in which a worker that is told of work must come back; otherwise another is told."""

_ECHO = 2.0
_LISTEN_AGAIN = 60.0
_REMEMBER = 60.0
"""Seconds that a notification is kept for a worker that is between two requests, or comes to another process first."""
_MOST = 4096


class Poll:
    """One request that is kept waiting."""

    __slots__ = ("_something", "cancelled", "gone", "wakes", "woken")

    def __init__(self) -> None:
        self.woken = False
        self.wakes = 0
        """How many times it was told of work."""
        self.gone = False
        self.cancelled: set[UUID] = set()
        self._something = asyncio.Event()

    def tell(self) -> None:
        self._something.set()

    async def something(self, seconds: float) -> None:
        """Until there is something to look at, or the time is over."""
        try:
            async with asyncio.timeout(max(0.0, seconds)):
                await self._something.wait()
        except TimeoutError:
            pass
        self._something.clear()


class _Told(msgspec.Struct):
    lease: Lease
    id: UUID


_read_cancel = msgspec.json.Decoder(_Told).decode


class WaitingWorkers(Loop):
    """Listens from the first worker on until `aclose`."""

    name = "listening for workers"

    def __init__(self, engine: PostgresEngine) -> None:
        super().__init__(engine.faults)
        self.closing = False
        """Whoever waits is to be answered: the server stops."""
        self._engine = engine
        self._backend: int | None = None
        self._polls: dict[Lease, set[Poll]] = {}
        self._undelivered: OrderedDict[Lease, float] = OrderedDict()
        self._seen: OrderedDict[Lease, float] = OrderedDict()
        self._registered: dict[Lease, set[str]] = {}
        self._left: OrderedDict[Lease, tuple[float, Sequence[str]]] = OrderedDict()
        self._settled = asyncio.Event()
        self._passing_on: set[asyncio.Task[None]] = set()

    @property
    def listening(self) -> bool:
        """Whether notifications arrive; where they cannot, or not yet, who waits must look now and then."""
        return self._backend is not None

    @property
    def waiting(self) -> int:
        return sum(map(len, self._polls.values()))

    async def settle(self) -> None:
        """Starts to listen, and waits until it is known whether notifications arrive."""
        if self._task is None and not self.closing:
            self.start()
        if not self._settled.is_set():
            try:
                async with asyncio.timeout(_ECHO + 1):
                    await self._settled.wait()
            except TimeoutError:
                pass

    def leave(self) -> None:
        """Lets every request that waits end, as a server must before it can stop."""
        self.closing = True
        for poll in self.everybody():
            poll.tell()

    async def aclose(self) -> None:
        self.leave()
        await self.stop()
        for task in list(self._passing_on):
            task.cancel()
        await asyncio.gather(*self._passing_on, return_exceptions=True)

    @contextmanager
    def polling(self, lease: Lease) -> Iterator[Poll]:
        """A request of this worker's that waits."""
        poll = Poll()
        _keep(self._seen, lease)
        heard_at = self._undelivered.pop(lease, None)
        poll.woken = heard_at is not None and time.monotonic() - heard_at < _REMEMBER
        self._polls.setdefault(lease, set()).add(poll)
        try:
            yield poll
        finally:
            polls = self._polls[lease]
            polls.discard(poll)
            if not polls:
                del self._polls[lease]

    async def register(self, lease: Lease, queues: Sequence[str]) -> tuple[bool, float | None]:
        """Has the worker woken for these queues. Whether it is new here, so that work may have come unnoticed; and in
        how many seconds to look again all the same."""
        backend = self._backend
        if backend is None:
            return False, None
        again = await self._engine.arun(commands.WaitForHand(lease, queues, backend=backend))
        new = lease not in self._registered
        if backend == self._backend:
            if len(self._registered) > _MOST:
                self._registered.clear()
            self._registered.setdefault(lease, set()).update(queues)
            self._left.pop(lease, None)
        return new, again

    async def unregister(self, lease: Lease, queues: Sequence[str] | None = None) -> None:
        """Has it woken no more for these queues, or for any."""
        await self._engine.arun(commands.StopWaiting(lease, queues))
        self._leave_out(lease, queues)

    def _leave_out(self, lease: Lease, queues: Sequence[str] | None = None) -> None:
        """A notification that was sent before may arrive after: it is for another."""
        registered = self._registered.pop(lease, set())
        gone = registered if queues is None else registered.intersection(queues)
        if registered - gone:
            self._registered[lease] = registered - gone
        if gone:
            self._left[lease] = time.monotonic(), sorted(gone)
            if len(self._left) > _MOST:
                self._left.popitem(last=False)

    async def has_work(self, queues: Sequence[str]) -> bool:
        return any(each.ready for each in await self._engine.arun(commands.Backlog(queues, 1)))

    async def lose_sight(self, lease: Lease) -> None:
        """The worker is gone, or came to another process: nobody is to be told of work through this one."""
        if self._backend is not None:
            await self._engine.arun(commands.LoseSight(lease, self._backend))
        self._leave_out(lease)

    # Listening.

    async def run(self) -> None:
        while True:
            notifications = Notifications(self._engine, ["wake", "cancel"], self._hear)
            hears = await notifications.open(_ECHO)
            if not hears:
                self._settled.set()
                log.info("notifications do not arrive here (a transaction pooler?): polling for workers instead")
                await asyncio.sleep(_LISTEN_AGAIN)
                continue
            try:
                self._backend = await self._who_listens(notifications)
                self._settled.set()
                # of what happened before, nobody was told
                self._wake_everybody()
                await notifications.broken.wait()
                log.debug("the connection that listens for workers was lost; opening another")
            finally:
                self._backend = None
                self._registered.clear()
                notifications.close()

    async def _who_listens(self, notifications: Notifications) -> int:
        # asked for, not taken from the handshake: a pooler may stand between
        assert notifications.connection is not None
        notifications.stop_reading()
        try:
            call: Statement[Any] = Statement("select pg_catalog.pg_backend_pid()", [], first)
            cursor = await notifications.connection.execute(call.text.encode())
            return int(call.read(await cursor.fetchall()))
        finally:
            notifications.read()

    def _hear(self, sort: str, payload: str) -> None:
        match sort:
            case "wake" if payload.isdecimal():
                self.wake(Lease(int(payload)))
            case "cancel":
                told = _read_cancel(payload)
                for poll in self._polls.get(told.lease, ()):
                    poll.cancelled.add(told.id)
                    poll.tell()

    def wake(self, lease: Lease) -> None:
        polls = self._polls.get(lease)
        left_at, queues = self._left.get(lease, (0.0, ()))
        if polls:
            for poll in polls:
                poll.woken = True
                poll.wakes += 1
                poll.tell()
        elif time.monotonic() - left_at < _REMEMBER:
            self._do(self._pass_on(queues))
        else:
            # also for workers that were never here: this may be the process their next request comes to
            _keep(self._undelivered, lease)
        if lease in self._registered:
            self._do(self._pass_on_unless_seen(lease, time.monotonic()))

    def _do(self, work: Coroutine[None, None, None]) -> None:
        async def report() -> None:
            try:
                await work
            except Exception as error:  # whoever looks next finds the work
                level = logging.DEBUG if is_lost(error) else logging.WARNING
                log.log(level, "could not pass on what a worker was told: %s", " ".join(str(error).split()))

        task = asyncio.get_running_loop().create_task(report())
        self._passing_on.add(task)
        task.add_done_callback(self._passing_on.discard)

    async def _pass_on(self, queues: Sequence[str]) -> None:
        for queue in queues:
            await self._engine.arun(commands.Wake(queue, 1))

    async def _pass_on_unless_seen(self, lease: Lease, since: float) -> None:
        """What a worker was told of, and did not come back after, is for another."""
        await asyncio.sleep(OUT_OF_SIGHT)
        if self._seen.get(lease, 0.0) < since and not self.closing:
            await self.lose_sight(lease)

    def _wake_everybody(self) -> None:
        for poll in self.everybody():
            poll.woken = True
            poll.tell()

    def everybody(self) -> list[Poll]:
        return [poll for polls in self._polls.values() for poll in polls]


def _keep(times: "OrderedDict[Lease, float]", lease: Lease) -> None:
    times[lease] = time.monotonic()
    times.move_to_end(lease)
    if len(times) > _MOST:
        times.popitem(last=False)
