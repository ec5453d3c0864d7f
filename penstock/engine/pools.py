"""Connections kept open: one pool for sync callers, one for each event loop. Opened when first needed.

Nothing runs in the background: whoever finds no idle connection opens one. psycopg_pool has tasks and threads for that,
and its tasks swallow a cancellation: an event loop that ended while one was connecting never ended (3 runs of 8 of a
program that enqueues one job and returns). It also hides why a server cannot be reached behind a timeout.
"""

import asyncio
import os
import socket
import threading
import time
from collections import deque
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager, suppress
from typing import Any, Generic, TypeVar
from weakref import WeakKeyDictionary

import psycopg
from psycopg.conninfo import conninfo_to_dict
from psycopg.pq import TransactionStatus

PATIENCE = 30.0
"""Seconds to wait for a connection while all are in use."""

RESTART = 10.0
"""Seconds to go on trying to connect to a server that was there before: it may be restarting."""

IDLE = 600.0
"""Seconds without use after which a connection is closed rather than used: something on the way may have cut it."""


_WHO_SERVES = "select pg_backend_pid()"

_NETWORK = {
    "connect_timeout": 10, "keepalives_idle": 30, "keepalives_interval": 5, "keepalives_count": 3,
    "tcp_user_timeout": 30_000,
}  # fmt: skip
"""A server that vanished without a word is noticed within a minute, not after the system's two hours."""


class SyncConnection(psycopg.Connection[Any]):
    # psycopg takes a connection with this attribute for a pool's, which may end with the program without a warning
    _pool = None


class AsyncConnection(psycopg.AsyncConnection[Any]):
    _pool = None


C = TypeVar("C", SyncConnection, AsyncConnection)


def settings_for(url: str) -> dict[str, Any]:
    """How to connect: what the address does not say itself is said here."""
    given = conninfo_to_dict(url)
    return {"conninfo": url, "autocommit": True, "application_name": "penstock"} | {
        name: value for name, value in _NETWORK.items() if name not in given
    }


@contextmanager
def cut_after(seconds: float | None, connection: psycopg.AsyncConnection[Any]) -> Iterator[None]:
    """Ends the connection if what happens inside takes longer, which then fails with an OperationalError.

    Not by cancelling the task: psycopg would ask the server to cancel the statement and wait for the answer, which
    never comes over a connection that is only half there.
    """
    if seconds is None:
        yield
        return
    timer = asyncio.get_running_loop().call_later(seconds, cut, connection)
    try:
        yield
    finally:
        timer.cancel()


def cut(connection: psycopg.AsyncConnection[Any] | psycopg.Connection[Any]) -> None:
    """Shuts the connection's socket down: whoever waits for an answer there gets an OperationalError."""
    if not connection.closed:
        with suppress(OSError), socket.socket(fileno=os.dup(connection.fileno())) as wire:
            wire.shutdown(socket.SHUT_RDWR)


class _Kept(Generic[C]):
    """Idle connections, the last used one first, and when to open another."""

    def __init__(self, url: str) -> None:
        self.settings = settings_for(url)
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
        elif self.closed or connection.pgconn.transaction_status != TransactionStatus.IDLE:
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

    def pauses(self) -> Iterator[float]:
        """How long to wait between attempts to connect; ends when it is time to give up."""
        deadline = time.monotonic() + (RESTART if self._met else 0)
        pause = 0.05
        while time.monotonic() + pause < deadline:
            yield pause
            pause = min(2 * pause, 1)

    def met(self, connection: C, backend: int) -> C:
        """A new connection, and the process that serves it by its own account."""
        self._met = True
        if backend != connection.info.backend_pid:
            # Somebody stands between (PgBouncer, a cloud's proxy) and may give each transaction another session: a
            # statement prepared in one could be somebody else's in the next.
            connection.prepare_threshold = None
        return connection


class SyncPool:
    def __init__(self, url: str, size: int) -> None:
        self.kept: _Kept[SyncConnection] = _Kept(url)
        self._places = threading.Semaphore(size)

    @contextmanager
    def connection(self) -> Iterator[SyncConnection]:
        if not self._places.acquire(timeout=PATIENCE):
            raise _all_in_use()
        try:
            connection = self.kept.take() or self._open()
            try:
                yield connection
            finally:
                self.kept.put_back(connection)
        finally:
            self._places.release()

    def _open(self) -> SyncConnection:
        for pause in self.kept.pauses():
            try:
                return self._connect()
            except psycopg.OperationalError:
                time.sleep(pause)
        return self._connect()

    def _connect(self) -> SyncConnection:
        connection = SyncConnection.connect(**self.kept.settings)
        [backend] = connection.execute(_WHO_SERVES).fetchone() or [0]
        return self.kept.met(connection, backend)


class AsyncPool:
    def __init__(self, url: str, size: int, patience: float | None = None) -> None:
        self.kept: _Kept[AsyncConnection] = _Kept(url)
        self._patience = patience
        self._places = asyncio.Semaphore(size)

    @asynccontextmanager
    async def connection(self) -> AsyncIterator[AsyncConnection]:
        await self._take_place()
        try:
            connection = self.kept.take() or await self._open()
            try:
                with cut_after(self._patience, connection):
                    yield connection
            finally:
                self.kept.put_back(connection)
        finally:
            self._places.release()

    async def _take_place(self) -> None:
        if not self._places.locked():
            await self._places.acquire()  # at once
            return
        try:
            async with asyncio.timeout(PATIENCE):
                await self._places.acquire()
        except TimeoutError:
            raise _all_in_use() from None

    async def _open(self) -> AsyncConnection:
        for pause in self.kept.pauses():
            try:
                return await self._connect()
            except psycopg.OperationalError:
                await asyncio.sleep(pause)
        return await self._connect()

    async def _connect(self) -> AsyncConnection:
        connection = await AsyncConnection.connect(**self.kept.settings)
        with cut_after(self._patience, connection):
            [backend] = await (await connection.execute(_WHO_SERVES)).fetchone() or [0]
        return self.kept.met(connection, backend)


def _all_in_use() -> psycopg.OperationalError:
    return psycopg.OperationalError(f"all connections were in use for {PATIENCE:.0f} s: raise Penstock(pool_size=…)")


class Pools:
    """Hands out autocommit connections. Forking and running several event loops one after another are fine."""

    def __init__(self, url: Callable[[], str], size: int, patience: float | None = None) -> None:
        self.url = url
        self._size = size
        self.patience = patience
        self._lock = threading.Lock()
        self._sync: SyncPool | None = None
        self._async: WeakKeyDictionary[asyncio.AbstractEventLoop, AsyncPool] = WeakKeyDictionary()

    def sync(self) -> SyncPool:
        with self._lock:
            if self._sync is None or self._sync.kept.pid != os.getpid():
                self._sync = SyncPool(self.url(), self._size)
            return self._sync

    async def of_this_loop(self) -> AsyncPool:
        loop = asyncio.get_running_loop()
        pool = self._async.get(loop)
        if pool is None or pool.kept.pid != os.getpid():
            self._drop_ended_loops()
            pool = self._async[loop] = AsyncPool(self.url(), self._size, self.patience)
        return pool

    def close(self) -> None:
        with self._lock:
            if self._sync is not None:
                self._sync.kept.close()
            self._sync = None
        self._drop_ended_loops()

    async def aclose(self) -> None:
        pool = self._async.pop(asyncio.get_running_loop(), None)
        if pool is not None:
            pool.kept.close()
        self.close()

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
