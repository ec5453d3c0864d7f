"""Listens for notifications of work and of cancellations; where none can arrive, says so, and others poll."""

import asyncio
import logging
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, TypeVar
from uuid import UUID, uuid4

import msgspec
import psycopg
from psycopg import sql

from penstock.engine.commands import Channels, GetChannels, StopWaiting, WaitForHand
from penstock.engine.commands.command import Command
from penstock.engine.loop import Loop
from penstock.engine.postgres.connections import AsyncConnection, cut, cut_after, settings_for
from penstock.engine.postgres.drivers import AsyncPsycopg, arun_one
from penstock.engine.postgres.statement import Statement, nothing
from penstock.engine.protocol import Ears
from penstock.job import ClaimedJob, Lease

if TYPE_CHECKING:
    from penstock.engine.postgres.engine import PostgresEngine


class Notifications:
    """Hands each notification of these sorts (`wake`, `hand`, `cancel`, `job`) to `take(sort, payload)`, from `open`
    until `close` or until it is `broken`. Then make another, and look up what was sent meanwhile."""

    def __init__(self, engine: "PostgresEngine", sorts: Sequence[str], take: Callable[[str, str], None]) -> None:
        self.connection: AsyncConnection | None = None
        self.broken = asyncio.Event()
        self._engine = engine
        self._sorts = sorts
        self._by_channel: dict[str, str] = {}
        self._unreadable: set[str] = set()
        self._take = take
        self._echo = f"penstock_echo_{uuid4().hex}"
        self._echoed = asyncio.Event()
        self._reading: int | None = None

    async def open(self, within: float) -> bool:
        """Connects and listens. False, and closed, where a notification of another session does not arrive in time."""
        self.connection = await AsyncConnection.connect(**settings_for(self._engine.pools.url()))
        hears = False
        try:
            hears = await self._hears(self.connection, within)
        finally:
            if not hears:
                self.close()
        if hears:
            self.read()
        return hears

    def close(self) -> None:
        connection, self.connection = self.connection, None
        if connection is not None:
            self.stop_reading()
            connection.pgconn.finish()

    def read(self) -> None:
        """Notifications are taken as they come. Not while a statement runs: psycopg reads the answer."""
        assert self.connection is not None
        self._reading = self.connection.fileno()
        asyncio.get_running_loop().add_reader(self._reading, self._read_from, self.connection)

    def stop_reading(self) -> None:
        if self._reading is not None:
            asyncio.get_running_loop().remove_reader(self._reading)
            self._reading = None

    async def _hears(self, connection: AsyncConnection, within: float) -> bool:
        connection.add_notify_handler(self._hear)
        with cut_after(self._engine.pools.answer_timeout, connection):
            runner = AsyncPsycopg(connection, self._engine.schema)
            channels: Channels = await arun_one(runner, GetChannels(), self._engine.schema)
            self._by_channel = {getattr(channels, sort): sort for sort in self._sorts}
            for channel in (*self._by_channel, self._echo):
                await connection.execute(sql.SQL("listen {}").format(sql.Identifier(channel)))
            await self._engine.arun(Statement("select pg_catalog.pg_notify(%s, '')", [self._echo], nothing))
        self.read()
        try:
            async with asyncio.timeout(within):
                await self._echoed.wait()
        except TimeoutError:
            # after a while in which nothing of this program ran, it may have come and not have been read
            self._read_from(connection)
            if self.broken.is_set():
                raise psycopg.OperationalError("the listening connection was lost") from None
            if not self._echoed.is_set():
                return False
        finally:
            self.stop_reading()
        with cut_after(self._engine.pools.answer_timeout, connection):
            await connection.execute(sql.SQL("unlisten {}").format(sql.Identifier(self._echo)))
        return True

    def _read_from(self, connection: AsyncConnection) -> None:
        """Straight from libpq: psycopg's own iterator would hold the connection's lock all the while."""
        pgconn = connection.pgconn
        try:
            pgconn.consume_input()
            while notification := pgconn.notifies():
                self._heard(notification.relname.decode(errors="replace"), notification.extra.decode(errors="replace"))
        except psycopg.OperationalError:
            self.stop_reading()
            self.broken.set()

    def _hear(self, notification: psycopg.Notify) -> None:
        """A notification that came with the answer to a statement."""
        self._heard(notification.channel, notification.payload)

    def _heard(self, channel: str, payload: str) -> None:
        if channel == self._echo:
            self._echoed.set()
        elif sort := self._by_channel.get(channel):
            try:
                self._take(sort, payload)
            except Exception as error:  # whatever it says, what comes after it is to be heard
                if sort not in self._unreadable:
                    self._unreadable.add(sort)
                    engine_log.warning("a notification (%s) cannot be read: %s", sort, type(error).__name__)


T = TypeVar("T")
log = logging.getLogger("penstock.worker")
engine_log = logging.getLogger("penstock.engine")
"""For whoever hears notifications: a server does, too."""

_ECHO = 2.0
_TRY_AGAIN = (1.0, 60.0)
"""Seconds until it listens again where nothing was heard: soon, for the machine may have been busy, then less often."""


class _Handed(msgspec.Struct):
    """What a later version adds is passed over."""

    lease: Lease
    queue: str
    job: ClaimedJob


class _Cancelled(msgspec.Struct):
    lease: Lease
    id: UUID


_read_handed = msgspec.json.Decoder(_Handed).decode
_read_cancelled = msgspec.json.Decoder(_Cancelled).decode


class PostgresListener(Loop):
    name = "listener"
    heard_at = 0.0

    def __init__(self, engine: "PostgresEngine", ears: Ears) -> None:
        super().__init__(engine.faults)
        self.lease = Lease(0)
        self.connected: object = None
        """What a registration is worth: it ends with the connection it was made on."""
        self._engine = engine
        self._ears = ears
        self._notifications: Notifications | None = None
        self._one_at_a_time = asyncio.Lock()
        self._settled = asyncio.Event()
        self._been_connected = False

    @property
    def listening(self) -> bool:
        return self.connected is not None

    async def run(self) -> None:
        while True:
            notifications = await self._connect()
            try:
                await notifications.broken.wait()
                log.debug("the listening connection was lost; looking for work until it is back")
            finally:
                await self._leave()
                self._ears.wake()
                self._ears.missed()

    async def settle(self) -> None:
        with suppress(TimeoutError):
            async with asyncio.timeout(_ECHO + 1):
                await self._settled.wait()

    async def run_command(self, command: Command[T], /) -> T:
        """Runs it on the listening connection, which shows that it lives; on another when it does not, unless it
        is not to be repeated."""
        async with self._one_at_a_time:
            notifications = self._notifications
            if notifications is not None and notifications.connection is not None:
                notifications.stop_reading()
                try:
                    with cut_after(self._engine.pools.answer_timeout, notifications.connection):
                        runner = AsyncPsycopg(notifications.connection, self._engine.schema)
                        return await arun_one(runner, command, self._engine.schema)
                except (psycopg.OperationalError, psycopg.InterfaceError, OSError):
                    notifications.broken.set()
                    self._disconnect()
                    if not command.repeatable:
                        raise
                finally:
                    if notifications is self._notifications:
                        notifications.read()
        if not command.repeatable:
            raise psycopg.OperationalError("the listening connection was lost")
        return await self._engine.arun(command)

    async def register(self, queue: str) -> float | None:
        """Asks to be woken for a queue; in how many seconds to look again all the same, if that is known."""
        if not self.listening:
            return None
        try:
            return await self.run_command(WaitForHand(self.lease, [queue], direct=True))
        except (psycopg.OperationalError, psycopg.InterfaceError, OSError):
            return None  # and not on another connection: nobody would hear what is sent to that

    async def unregister(self, queue: str) -> None:
        await self.run_command(StopWaiting(self.lease, [queue]))

    async def unregister_all(self) -> None:
        await self.run_command(StopWaiting(self.lease))

    async def _connect(self) -> Notifications:
        pause, longest = _TRY_AGAIN
        while True:
            notifications = Notifications(self._engine, ["wake", "cancel", "hand"], self._take)
            hears = await notifications.open(_ECHO)
            self._settled.set()
            if hears:
                break
            log.info("notifications do not arrive here (a transaction pooler?): polling instead")
            await asyncio.sleep(pause)
            pause = min(2 * pause, longest)
        self._notifications = notifications
        self.connected = object()
        self._ears.wake()
        if self._been_connected:
            self._ears.missed()
        self._been_connected = True
        return notifications

    async def _leave(self) -> None:
        """Ends the connection when nobody uses it: its descriptor may be that of another in the next moment, and who
        still waits for the old one would take the new one's place in the event loop."""
        if self._notifications is not None and self._notifications.connection is not None:
            cut(self._notifications.connection)
        async with self._one_at_a_time:
            self._disconnect()

    def _disconnect(self) -> None:
        notifications, self._notifications, self.connected = self._notifications, None, None
        if notifications is not None:
            notifications.close()

    def _take(self, sort: str, payload: str) -> None:
        match sort:
            case "wake" if payload == str(self.lease):
                self._ears.wake()
            case "wake" if payload == f"{self.lease} lead":
                self._ears.missed()  # nobody leads: its next heartbeat takes that over
            case "hand" if payload.startswith(f'{{"lease" : {self.lease},'):
                try:
                    handed = _read_handed(payload)
                except (msgspec.MsgspecError, RecursionError):
                    self._ears.missed()  # the job is ours all the same, to run or to give back
                    raise
                self._ears.hand(handed.queue, handed.job)
            case "cancel":
                told = _read_cancelled(payload)
                if told.lease == self.lease:
                    self._ears.cancel(told.id)

    async def stop(self) -> None:
        await super().stop()
        await self._leave()
