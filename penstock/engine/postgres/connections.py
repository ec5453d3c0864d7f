"""Connections that notice when the server does not answer any more, however long an answer may otherwise take."""

import asyncio
import os
import select
import socket
import threading
import time
from collections.abc import AsyncIterator, Callable, Generator, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager, suppress
from contextvars import ContextVar
from typing import Any, TypeVar

import psycopg
from psycopg.conninfo import conninfo_to_dict
from psycopg.waiting import Ready, Wait

from penstock.engine.faults import UNSET, Outage, within
from penstock.engine.postgres.errors import PostgresUnavailable
from penstock.errors import DatabaseUnavailable

T = TypeVar("T")

_READABLE = (Ready.R, Ready.RW)
_READING = 0.001
"""Seconds in which one answer is read while everybody else waits."""
_NO_ANSWER = "no answer to an attempt to connect"
_deadline: ContextVar["_Deadline | None"] = ContextVar("penstock connect by", default=None)

_NETWORK = {
    "connect_timeout": 10, "keepalives_idle": 5, "keepalives_interval": 2, "keepalives_count": 3,
    "tcp_user_timeout": 10_000,
}  # fmt: skip
"""A server that vanished without a word is noticed within ten seconds, not after the system's two hours: before a
replica takes over, which for Patroni is twenty later. What waits for an answer meanwhile holds a connection of the
pool: with thirty seconds, handlers in their own transactions kept workers from the new leader for thirteen."""


ENCODING = "utf8"
"""Ours to say: what we send is encoded already, whatever the database or PGCLIENTENCODING would have."""


def settings_for(url: str) -> dict[str, Any]:
    """How to connect: what the address does not say itself is said here."""
    given = conninfo_to_dict(url)
    said = {"conninfo": url, "autocommit": True, "application_name": "penstock", "client_encoding": ENCODING}
    return said | {name: value for name, value in _NETWORK.items() if name not in given}


class _Deadline:
    """By when to be connected, to one host of those that the address names. One that is silent, as a machine without
    power is, gets half of what is left: it may have been the leader, and stand before the new one."""

    def __init__(self, seconds: float, settings: Mapping[str, Any]) -> None:
        given = conninfo_to_dict(settings["conninfo"])
        self._at = time.monotonic() + seconds
        self._hosts = 1 + max(str(given.get(name) or "").count(",") for name in ("host", "hostaddr"))

    def of_next(self) -> float:
        """For the host that is asked now."""
        now, self._hosts = time.monotonic(), self._hosts - 1
        return now + (self._at - now) / 2 if self._hosts > 0 else self._at


@contextmanager
def _connecting_within(seconds: float | None, settings: Mapping[str, Any]) -> Iterator[None]:
    token = _deadline.set(None if seconds is None else _Deadline(seconds, settings))
    try:
        yield
    finally:
        _deadline.reset(token)


def _in_time(gen: Generator[Any, Any, T]) -> Generator[Any, Any, T]:
    """An attempt to connect to one host. psycopg's own timeout is in whole seconds, two at least, and for each anew."""
    deadline = _deadline.get()
    by = None if deadline is None else deadline.of_next()

    def look(_: object) -> None:
        if by is not None and time.monotonic() > by:
            gen.close()  # psycopg keeps the error while it asks the next, and the half-open connection with it
            raise psycopg.OperationalError(_NO_ANSWER)

    return _looking(gen, look)


@contextmanager
def cut_after(seconds: float | None, connection: "AsyncConnection") -> Iterator[None]:
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


@asynccontextmanager
async def pipeline(connection: psycopg.AsyncConnection[Any]) -> AsyncIterator[None]:
    """psycopg's own, but it ends in silence when the connection is lost: that would be a line in the log for each
    request, and whoever asked gets the error anyway."""
    lost: BaseException | None = None
    try:
        async with connection.pipeline():
            try:
                yield
            except BaseException as error:
                if not connection.closed:
                    raise
                lost = error
    except psycopg.Error:
        if lost is None:
            raise
    if lost is not None:
        raise lost


def cut(connection: "SyncConnection | AsyncConnection") -> None:
    """Shuts the connection's socket down: whoever waits for an answer there gets an OperationalError.

    Whoever has the answer already gets it, and would put the connection back as one that still works.
    """
    connection.was_cut = True
    if not connection.closed:
        with suppress(OSError), socket.socket(fileno=os.dup(connection.fileno())) as wire:
            wire.shutdown(socket.SHUT_RDWR)


# by hand: psycopg waits in a loop of its own there, which can look up now and then
class SyncConnection(psycopg.Connection[Any]):
    # psycopg takes a connection with this attribute for a pool's, which may end with the program without a warning
    _pool = None
    contact: "Contact | None" = None
    was_cut = False

    @classmethod
    def connect_within(cls, seconds: float | None, settings: Mapping[str, Any]) -> "SyncConnection":
        with _connecting_within(seconds, settings):
            return cls.connect(**settings)

    @classmethod
    def _connect_gen(cls, *args: Any, **kwargs: Any) -> Generator[Any, Any, Any]:
        return (yield from _in_time(super()._connect_gen(*args, **kwargs)))

    def wait(self, gen: Generator[Any, Any, T], *args: Any, **kwargs: Any) -> T:
        contact = self.contact
        seconds = contact.timeout if contact is not None else None
        if contact is None or seconds is None:
            return super().wait(gen, *args, **kwargs)
        try:
            answer = super().wait(_looking(gen, _silence(contact, seconds)), *args, **kwargs)
        except DatabaseUnavailable:
            self.pgconn.finish()
            raise
        contact.answered_at = time.monotonic()
        return answer


def _looking(gen: Generator[Any, Any, T], look: Callable[[object], None]) -> Generator[Any, Any, T]:
    """A generator of psycopg's, which is resumed every tenth of a second while nothing comes: so often do we look."""
    try:
        wanted = next(gen)
        while True:
            ready = yield wanted
            look(ready)
            wanted = gen.send(ready)
    except StopIteration as end:
        answer: T = end.value
        return answer


def reading_on(gen: Generator[Any, Any, T], descriptor: int) -> Generator[Any, Any, T]:
    """A generator of psycopg's that reads an answer. While more of it is there it reads on, for a moment, without
    asking the event loop in between: libpq takes some 8 KB at a time, and a turn of the loop for each was a third of
    all that a worker did with jobs of 10 KB."""
    there = None
    try:
        wanted = next(gen)
        while True:
            ready = yield wanted
            wanted = gen.send(ready)
            if ready == Ready.R and wanted == Wait.R:
                if there is None:
                    there = select.poll()
                    there.register(descriptor, select.POLLIN)
                until = time.monotonic() + _READING
                while wanted == Wait.R and there.poll(0) and time.monotonic() < until:
                    wanted = gen.send(Ready.R)
    except StopIteration as end:
        answer: T = end.value
        return answer


def _silence(contact: "Contact", seconds: float) -> Callable[[object], None]:
    since = time.monotonic()

    def look(ready: object) -> None:
        nonlocal since
        if ready:
            since = time.monotonic()
        elif time.monotonic() - since > seconds / 2:
            contact.check(since, seconds, sent=True)
            since = time.monotonic()

    return look


class AsyncConnection(psycopg.AsyncConnection[Any]):
    _pool = None
    contact: "Contact | None" = None
    was_cut = False
    reads_on = False
    """Whether its answers may be large, as those of claims are. For all others it would be 2 of an enqueue's 88 µs."""

    @classmethod
    async def connect_within(cls, seconds: float | None, settings: Mapping[str, Any]) -> "AsyncConnection":
        connection = None
        with suppress(TimeoutError), _connecting_within(seconds, settings):
            async with asyncio.timeout(seconds):
                connection = await cls.connect(**settings)
        if connection is None:
            # raised here, for an error that knew the other would keep its half-open connection with it
            raise psycopg.OperationalError(_NO_ANSWER)
        return connection

    @classmethod
    def _connect_gen(cls, *args: Any, **kwargs: Any) -> Generator[Any, Any, Any]:
        return (yield from _in_time(super()._connect_gen(*args, **kwargs)))

    async def wait(self, gen: Generator[Any, Any, T], *args: Any, **kwargs: Any) -> T:
        contact = self.contact
        seconds = contact.timeout if contact is not None else None
        if self.reads_on:
            gen = reading_on(gen, self.pgconn.socket)
        if contact is None or seconds is None:
            return await super().wait(gen, *args, **kwargs)
        watch = _Watch(self, contact, seconds)
        heard = False

        def listen(ready: object) -> None:
            nonlocal heard
            heard = heard or ready in _READABLE

        try:
            answer = await super().wait(_looking(gen, listen), *args, **kwargs)
        except psycopg.OperationalError:
            if watch.unavailable is not None:
                raise watch.unavailable from None
            raise
        finally:
            watch.end()
        if heard:
            # what a pipeline only keeps for later is not answered by anybody
            contact.answered_at = time.monotonic()
        return answer


def expect_much(connection: object) -> None:
    """Its answers may be large from here on. Where it is not async they are read by libpq and psycopg's C alone."""
    if isinstance(connection, AsyncConnection):
        connection.reads_on = True


class _Watch:
    """While an answer is waited for: when none has come for a while, looks whether the server lives, else cuts."""

    def __init__(self, connection: AsyncConnection, contact: "Contact", seconds: float) -> None:
        self.unavailable: DatabaseUnavailable | None = None
        self._connection = connection
        self._contact = contact
        self._seconds = seconds
        self._checking: asyncio.Task[None] | None = None
        self._begin()

    def end(self) -> None:
        self._timer.cancel()
        if self._checking is not None:
            self._checking.cancel()

    def _begin(self) -> None:
        self._since = time.monotonic()
        self._timer = asyncio.get_running_loop().call_later(self._seconds / 2, self._look)

    def _look(self) -> None:
        self._checking = asyncio.get_running_loop().create_task(self._check())

    async def _check(self) -> None:
        try:
            await self._contact.acheck(self._since, self._seconds, sent=True)
        except DatabaseUnavailable as error:
            self.unavailable = error
            cut(self._connection)
        else:
            self._begin()


class Contact:
    """Between one pool and its server."""

    def __init__(self, settings: dict[str, Any], timeout: float | None, outage: Outage) -> None:
        self.answered_at = 0.0
        self.outage = outage
        self._settings = settings
        self._timeout = timeout
        self._unanswered_at = 0.0
        self._one_at_a_time = threading.Lock()
        self._probing: asyncio.Task[None] | None = None

    @property
    def timeout(self) -> float | None:
        asked = within.get()
        return self._timeout if asked is UNSET else asked

    # by hand: threads wait for one another by a lock
    def check(self, since: float, seconds: float, *, sent: bool) -> None:
        """Raises DatabaseUnavailable if nobody had an answer since, and a new connection gets none either."""
        with self._one_at_a_time:
            if self.answered_at >= since:
                return
            if self._unanswered_at < since:
                self._probe(seconds / 2)
        if self.answered_at < since:
            raise PostgresUnavailable(seconds, _SILENT, sent=sent)

    async def acheck(self, since: float, seconds: float, *, sent: bool) -> None:
        if self.answered_at < since and self._unanswered_at < since:
            if self._probing is None or self._probing.done():
                self._probing = asyncio.get_running_loop().create_task(self._aprobe(seconds / 2))
            # shielded: whoever began it may not want to know any more while others do
            await asyncio.shield(self._probing)
        if self.answered_at < since:
            raise PostgresUnavailable(seconds, _SILENT, sent=sent)

    def _probe(self, seconds: float) -> None:
        try:
            SyncConnection.connect_within(seconds, self._settings).close()
        except psycopg.OperationalError as error:
            self._take(error)
        else:
            self._take(None)

    async def _aprobe(self, seconds: float) -> None:
        try:
            await (await AsyncConnection.connect_within(seconds, self._settings)).close()
        except psycopg.OperationalError as error:
            self._take(error)
        else:
            self._take(None)

    def _take(self, error: Exception | None) -> None:
        if error is None or "FATAL" in str(error):  # it has too many connections, but it lives
            self.answered_at = time.monotonic()
        else:
            self._unanswered_at = time.monotonic()
            self.outage.begin(_SILENT)


_SILENT = "it does not answer"
