"""A connection that hears notifications, and shows whether they arrive: behind a transaction pooler they do not."""

import asyncio
import logging
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING
from uuid import uuid4

import psycopg
from psycopg import sql

from penstock.engine.commands import Channels, GetChannels
from penstock.engine.postgres.connections import AsyncConnection, cut_after, settings_for
from penstock.engine.postgres.drivers import AsyncPsycopg, arun_one
from penstock.engine.postgres.statement import Statement, nothing

if TYPE_CHECKING:
    from penstock.engine.postgres.engine import PostgresEngine

log = logging.getLogger("penstock.engine")


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
        with cut_after(self._engine.pools.patience, connection):
            runner = AsyncPsycopg(connection, self._engine.schema)
            channels: Channels = await arun_one(runner, GetChannels(), self._engine.schema)
            self._by_channel = {getattr(channels, sort): sort for sort in self._sorts}
            for channel in (*self._by_channel, self._echo):
                await connection.execute(sql.SQL("listen {}").format(sql.Identifier(channel)))
            await self._engine.arun(Statement("select pg_notify(%s, '')", [self._echo], nothing))
        self.read()
        try:
            async with asyncio.timeout(within):
                await self._echoed.wait()
        except TimeoutError:
            if self.broken.is_set():
                raise psycopg.OperationalError("the listening connection was lost") from None
            return False
        finally:
            self.stop_reading()
        with cut_after(self._engine.pools.patience, connection):
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
                    log.warning("a notification (%s) cannot be read: %s", sort, type(error).__name__)
