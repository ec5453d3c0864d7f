"""Connections kept open: one pool for sync callers, one for each event loop. Opened when first needed.

Nothing runs in the background: whoever finds no idle connection opens one. psycopg_pool has tasks and threads for that,
and its tasks swallow a cancellation: an event loop that ended while one was connecting never ended (3 runs of 8 of a
program that enqueues one job and returns). It also hides why a server cannot be reached behind a timeout.
"""

import asyncio
import os
import threading
import time
from collections import deque
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from typing import Generic, TypeVar
from weakref import WeakKeyDictionary

import psycopg
from psycopg.pq import TransactionStatus

from penstock.engine.faults import Outage
from penstock.engine.postgres.connections import AsyncConnection, Contact, SyncConnection, cut_after, settings_for
from penstock.engine.postgres.errors import PostgresUnavailable
from penstock.errors import PenstockError
from penstock.sql import contract, quote_schema

PLACE_TIMEOUT = 30.0
"""Seconds to wait for a connection while all are in use."""

RESTART = 10.0
"""Seconds that a worker goes on trying to connect to a server that was there before: it may be restarting. Whoever has
a timeout tries for that long."""

IDLE = 600.0
"""Seconds without use after which a connection is closed rather than used: something on the way may have cut it."""

_WHO_SERVES = (
    "select pg_catalog.pg_backend_pid(), pg_catalog.obj_description(pg_catalog.to_regnamespace(%s), 'pg_namespace')"
)

C = TypeVar("C", SyncConnection, AsyncConnection)


class _Kept(Generic[C]):
    """Idle connections, the last used one first, and when to open another."""

    def __init__(self, url: str, schema: str, timeout: float | None, outage: Outage) -> None:
        self.schema = schema
        self.settings = settings_for(url)
        self.contact = Contact(self.settings, timeout, outage)
        self.pid = os.getpid()
        self.closed = False
        self._idle: deque[tuple[float, C]] = deque()
        self._lock = threading.Lock()
        self._met = False

    def take(self) -> C | None:
        """The idle connection used last, if there is one worth using."""
        oldest = time.monotonic() - IDLE
        with self._lock:
            while self._idle:
                since, connection = self._idle.pop()
                if since > oldest and not connection.closed:
                    return connection
                connection.pgconn.finish()
        return None

    def put_back(self, connection: C) -> None:
        if connection.closed:
            # it rarely ends alone: the server was restarted, or the network was
            self.drop_idle()
        elif self.closed or connection.was_cut or connection.pgconn.transaction_status != TransactionStatus.IDLE:
            connection.pgconn.finish()
        else:
            now = time.monotonic()
            with self._lock:
                self._idle.append((now, connection))
                while now - self._idle[0][0] > IDLE:
                    self._idle.popleft()[1].pgconn.finish()

    def drop_idle(self) -> None:
        if self.pid != os.getpid():
            return  # after a fork they are the parent's: finishing them here would end its sessions
        with self._lock:
            while self._idle:
                self._idle.pop()[1].pgconn.finish()

    def close(self) -> None:
        self.closed = True
        self.drop_idle()

    @property
    def introduction(self) -> tuple[str, list[str]]:
        """The first statement on a new connection."""
        return _WHO_SERVES, [quote_schema(self.schema)]

    def met(self, connection: C, backend: int, comment: str | None) -> C:
        """A new connection, the process that serves it by its own account, and what the schema says of itself."""
        try:
            contract.check(self.schema, comment)
        except PenstockError:
            connection.pgconn.finish()
            raise
        self._met = True
        self.contact.outage.end()
        if backend != connection.info.backend_pid:
            # Somebody stands between (PgBouncer, a cloud's proxy) and may give each transaction another session: a
            # statement prepared in one could be somebody else's in the next.
            connection.prepare_threshold = None
        return connection

    def attempts(self, since: float | None = None) -> "_Attempts":
        """`since` when whoever asks has waited already, which counts if the database was away meanwhile."""
        timeout = self.contact.timeout
        longest = RESTART if timeout is None else timeout
        began = since if since is not None and self.contact.outage.known else time.monotonic()
        return _Attempts(began, longest if self._met else 0, timeout, self.contact.outage)


class _Attempts:
    """To connect: until when, and how long to wait in between."""

    def __init__(self, began: float, seconds: float, timeout: float | None, outage: Outage) -> None:
        self._began = began
        self._seconds = seconds
        self._timeout = timeout
        self._outage = outage
        self._pause = 0.05

    def left(self) -> float | None:
        """Seconds that an attempt may take; None for as long as the settings say."""
        return None if self._timeout is None else max(0.1, self._began + self._timeout - time.monotonic())

    def pause(self, error: Exception) -> float:
        """How long to wait before the next; raises when it is time to give up."""
        tried = time.monotonic() - self._began
        if tried >= self._seconds:
            reason = " ".join(str(error).split()) or "no answer"
            self._outage.begin(reason)
            if self._timeout is None:
                raise error
            # a server that was never reached is asked once: how long it took to refuse is nobody's timeout
            waited = tried if self._seconds or tried >= self._timeout else 0.0
            raise PostgresUnavailable(waited, reason, sent=False) from None
        pause, self._pause = self._pause, min(2 * self._pause, 1)
        return min(pause, self._seconds - tried)


# by hand: threads wait for a place with a timeout of the semaphore's own, and nobody cuts a connection of theirs
class SyncPool:
    def __init__(self, url: str, schema: str, size: int, timeout: float | None, outage: Outage) -> None:
        self.kept: _Kept[SyncConnection] = _Kept(url, schema, timeout, outage)
        self._places = threading.Semaphore(size)

    @contextmanager
    def connection(self) -> Iterator[SyncConnection]:
        since = time.monotonic()
        self._take_place()
        try:
            connection = self.kept.take() or self.open(since)
            try:
                yield connection
            finally:
                self.kept.put_back(connection)
        finally:
            self._places.release()

    def _take_place(self) -> None:
        if self._places.acquire(blocking=False):
            return
        since, timeout = time.monotonic(), self.kept.contact.timeout
        while not self._places.acquire(timeout=PLACE_TIMEOUT if timeout is None else timeout / 2):
            if timeout is None or time.monotonic() - since > PLACE_TIMEOUT:
                raise _all_in_use()
            self.kept.contact.check(time.monotonic() - timeout / 2, timeout, sent=False)

    def open(self, since: float | None = None) -> SyncConnection:
        """A new one, for whoever keeps it."""
        attempts = self.kept.attempts(since)
        while True:
            try:
                return self._connect(attempts.left())
            except psycopg.OperationalError as error:
                time.sleep(attempts.pause(error))

    def _connect(self, seconds: float | None) -> SyncConnection:
        connection = SyncConnection.connect_within(seconds, self.kept.settings)
        connection.contact = self.kept.contact
        backend, comment = connection.execute(*self.kept.introduction).fetchone() or (0, None)
        return self.kept.met(connection, backend, comment)


class AsyncPool:
    def __init__(
        self, url: str, schema: str, size: int, answer_timeout: float | None, timeout: float | None, outage: Outage
    ) -> None:
        self.kept: _Kept[AsyncConnection] = _Kept(url, schema, timeout, outage)
        self._answer_timeout = answer_timeout
        self._places = asyncio.Semaphore(size)

    @asynccontextmanager
    async def connection(self) -> AsyncIterator[AsyncConnection]:
        since = time.monotonic()
        await self._take_place()
        try:
            connection = self.kept.take() or await self.open(since)
            try:
                with cut_after(self._answer_timeout, connection):
                    yield connection
            finally:
                self.kept.put_back(connection)
        finally:
            self._places.release()

    async def _take_place(self) -> None:
        if not self._places.locked():
            await self._places.acquire()  # at once
            return
        since, timeout = time.monotonic(), self.kept.contact.timeout
        while not await self._took_place(PLACE_TIMEOUT if timeout is None else timeout / 2):
            if timeout is None or time.monotonic() - since > PLACE_TIMEOUT:
                raise _all_in_use()
            await self.kept.contact.acheck(time.monotonic() - timeout / 2, timeout, sent=False)

    async def _took_place(self, within: float) -> bool:
        try:
            async with asyncio.timeout(within):
                return await self._places.acquire()
        except TimeoutError:
            return False

    async def open(self, since: float | None = None) -> AsyncConnection:
        attempts = self.kept.attempts(since)
        while True:
            try:
                return await self._connect(attempts.left())
            except psycopg.OperationalError as error:
                await asyncio.sleep(attempts.pause(error))

    async def _connect(self, seconds: float | None) -> AsyncConnection:
        connection = await AsyncConnection.connect_within(seconds, self.kept.settings)
        with cut_after(self._answer_timeout if seconds is None else seconds, connection):
            backend, comment = await (await connection.execute(*self.kept.introduction)).fetchone() or (0, None)
        connection.contact = self.kept.contact
        return self.kept.met(connection, backend, comment)


def _all_in_use() -> psycopg.OperationalError:
    told = f"all connections were in use for {PLACE_TIMEOUT:.0f} s: raise Penstock(pool_size=…)"
    return psycopg.OperationalError(told)


class Pools:
    """Hands out autocommit connections. Forking and running several event loops one after another are fine."""

    def __init__(
        self,
        url: Callable[[], str],
        schema: str,
        size: int,
        answer_timeout: float | None = None,
        timeout: float | None = None,
        *,
        outage: Outage,
    ) -> None:
        self.url = url
        self.answer_timeout = answer_timeout
        self._schema = schema
        self._outage = outage
        self.size = size
        self._timeout = timeout
        self._lock = threading.Lock()
        self._sync: SyncPool | None = None
        self._async: WeakKeyDictionary[asyncio.AbstractEventLoop, AsyncPool] = WeakKeyDictionary()

    # by hand: one for all threads
    def sync(self) -> SyncPool:
        with self._lock:
            if self._sync is None or self._sync.kept.pid != os.getpid():
                self._sync = SyncPool(self.url(), self._schema, self.size, self._timeout, self._outage)
            return self._sync

    async def of_this_loop(self) -> AsyncPool:
        loop = asyncio.get_running_loop()
        pool = self._async.get(loop)
        if pool is None or pool.kept.pid != os.getpid():
            self._drop_ended_loops()
            pool = self._async[loop] = AsyncPool(
                self.url(), self._schema, self.size, self.answer_timeout, self._timeout, self._outage
            )
        return pool

    # by hand: what threads use
    def close(self) -> None:
        with self._lock:
            if self._sync is not None:
                self._sync.kept.close()
            self._sync = None
        self._drop_ended_loops()

    async def aclose(self) -> None:
        self.leave_loop()
        self.close()

    def leave_loop(self) -> None:
        pool = self._async.pop(asyncio.get_running_loop(), None)
        if pool is not None:
            pool.kept.close()

    def leave(self) -> None:
        """Closes every pool, those of running loops too: what is asked for next goes to where `url` says by then.

        A connection in use stays with whoever has it, and is closed when it comes back.
        """
        for loop in list(self._async):
            self._async.pop(loop).kept.close()
        self.close()

    def _drop_ended_loops(self) -> None:
        for loop in list(self._async):
            if loop.is_closed():
                self._async.pop(loop).kept.close()
