"""A proxy for programs that cannot be taught where they may go, such as a browser: it asks a guard for them."""

import asyncio
import base64
import hmac
import secrets
import socket
import struct
from collections.abc import Awaitable, Callable
from contextlib import suppress
from ipaddress import IPv4Address, IPv6Address
from types import TracebackType
from typing import NamedTuple

from penstock.outbound.addresses import literal
from penstock.outbound.guard import Guard, Refused
from penstock.outbound.headers import MAX_HEAD, BadHead, Head, Target, read_head, read_target

HERE = "127.0.0.1"
CONNECT = 10.0
PIECE = 64 * 1024
_AT_ONCE = struct.pack("ii", 1, 0)


class _Spent(Exception):
    """No more bytes may pass."""


class _Turned(Exception):
    """A request is answered here and goes no further."""

    def __init__(self, status: str, *fields: str) -> None:
        lines = [f"HTTP/1.1 {status}", *fields, "Content-Length: 0", "Connection: close"]
        self.answer = ("\r\n".join(lines) + "\r\n\r\n").encode()


class _Side(NamedTuple):
    reader: asyncio.StreamReader
    writer: asyncio.StreamWriter


class GuardingProxy:
    """An HTTP proxy on loopback, for as long as the block lasts. Plain requests, and CONNECT for TLS and WebSockets.

    A name is looked up once, by the guard, and the connection goes to an address that it answered: a name that changes
    its mind gains nothing. Whoever has no `password` is not served. A connection carries one request: nothing can be
    smuggled behind it.

    `max_bytes`: of everything that passes, both ways, together; with them spent, `on_exhausted` is called and all
    connections are reset. `max_connections` at once, `max_requests` in all, `timeout` seconds for each.
    """

    def __init__(
        self,
        guard: Guard,
        *,
        max_bytes: int = 50 * 1024 * 1024,
        max_connections: int = 100,
        max_requests: int = 1000,
        timeout: float = 60.0,
    ) -> None:
        self.username = "penstock"
        self.password = secrets.token_urlsafe(24)
        self.refused: dict[tuple[str, int], Refused] = {}
        """By host and port, why the guard did not let a request through."""
        self.failed: dict[tuple[str, int], str] = {}
        """By host and port, what went wrong with a request that it did let through."""
        self.on_exhausted: Callable[[], None] | None = None
        self.port = 0
        self.passed = 0
        self._guard = guard
        self.max_bytes = max_bytes
        self._max_connections = max_connections
        self._requests_left = max_requests
        self._timeout = timeout
        self._expected = base64.b64encode(f"{self.username}:{self.password}".encode())
        self._writers: set[asyncio.StreamWriter] = set()
        self._tasks: set[asyncio.Task[None]] = set()

    @property
    def url(self) -> str:
        """Where it is, without its user name and password."""
        return f"http://{HERE}:{self.port}"

    @property
    def exhausted(self) -> bool:
        """Whether more has passed than may."""
        return self.passed > self.max_bytes

    async def __aenter__(self) -> "GuardingProxy":
        self._server = await asyncio.start_server(self._converse, HERE, 0, limit=MAX_HEAD)
        self.port = self._server.sockets[0].getsockname()[1]
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._server.close()
        for task in self._tasks:
            task.cancel()
        self._reset_all()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    async def _converse(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._tasks.add(task)
        self._writers.add(writer)
        try:
            async with asyncio.timeout(self._timeout):
                await self._serve(_Side(reader, writer))
                writer.close()
                await writer.wait_closed()
        except (OSError, TimeoutError, BadHead, _Spent, asyncio.CancelledError):
            # not closed but reset: what was cut must not look as if it had ended. CancelledError comes from __aexit__
            # alone; asyncio would log a conversation that ends with it as an error.
            _reset(writer)
        finally:
            writer.close()
            self._writers.discard(writer)
            self._tasks.discard(task)

    async def _serve(self, here: _Side) -> None:
        """One request: to the one it is meant for, or an answer that says why not."""
        target: Target | None = None
        try:
            head = await read_head(here.reader)
            if head is None:
                return
            self._check_password(head)
            if self.exhausted or self._requests_left <= 0 or len(self._tasks) > self._max_connections:
                raise _Turned("503 No More")
            self._requests_left -= 1
            target, length = read_target(head), head.body_length
            there = await self._connect(target)
        except _Turned as turned:
            here.writer.write(turned.answer)
        except BadHead:
            here.writer.write(_Turned("400 Bad Request").answer)
        except Refused as refused:
            assert target is not None
            self.refused[target.host, target.port] = refused
            here.writer.write(_Turned("403 Refused").answer)
        else:
            self._writers.add(there.writer)
            try:
                if target.path is None:
                    await self._tunnel(here, there)
                else:
                    await self._pass_on(head, target, length, here, there)
            finally:
                self._writers.discard(there.writer)
                _reset(there.writer)

    def _check_password(self, head: Head) -> None:
        scheme, _, given = " ".join(head.values("proxy-authorization")).partition(" ")
        if scheme.lower() != "basic" or not hmac.compare_digest(given.strip().encode("latin-1"), self._expected):
            raise _Turned("407 Proxy Authentication Required", 'Proxy-Authenticate: Basic realm="penstock"')

    async def _connect(self, target: Target) -> _Side:
        # what speaks through a CONNECT is TLS, or a WebSocket that a page may open on plain ports too
        scheme = "https" if target.path is None else "http"
        problem = "The server does not answer"
        for address in await self._guard.addresses(scheme, target.host, target.port):
            self._refuse_own_port(address, target.port)
            try:
                async with asyncio.timeout(CONNECT):
                    # AI_NUMERICHOST: an address and nothing else, so nothing is looked up again
                    return _Side(
                        *await asyncio.open_connection(
                            address, target.port, limit=MAX_HEAD, flags=socket.AI_NUMERICHOST
                        )
                    )
            except TimeoutError:
                problem = "Network timeout"
            except OSError:
                pass
        self.failed[target.host, target.port] = problem
        raise _Turned("502 Bad Gateway")

    def _refuse_own_port(self, address: str, port: int) -> None:
        if port == self.port and _is_here(address):
            raise Refused("the proxy does not lead to itself")

    async def _tunnel(self, here: _Side, there: _Side) -> None:
        here.writer.write(b"HTTP/1.1 200 Connected\r\n\r\n")
        await _first_of(self._relay(here.reader, there.writer), self._relay(there.reader, here.writer))

    async def _pass_on(self, head: Head, target: Target, length: int, here: _Side, there: _Side) -> None:
        self._count(head.size)
        there.writer.write(head.passed_on(f"{target.method} {target.path} HTTP/1.1", host=target.authority))

        async def ask() -> None:
            await self._relay(here.reader, there.writer, length)
            while await here.reader.read(PIECE):
                pass  # whatever is said after the request is not for the one who got the request

        async def answer() -> None:
            try:
                told = await _read_answer(there.reader)
            except (BadHead, OSError):
                self.failed[target.host, target.port] = "The server's answer is no HTTP"
                here.writer.write(_Turned("502 Bad Gateway").answer)
                return
            self._count(told.size)
            here.writer.write(told.passed_on(told.first))
            await self._relay(there.reader, here.writer)

        await _first_of(ask(), answer())

    async def _relay(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, length: int | None = None
    ) -> None:
        """Until the end, or for so many bytes."""
        while length is None or length > 0:
            piece = await reader.read(PIECE if length is None else min(PIECE, length))
            if not piece:
                return
            if length is not None:
                length -= len(piece)
            self._count(len(piece))
            writer.write(piece)
            await writer.drain()

    def _count(self, size: int) -> None:
        before = self.exhausted
        self.passed += size
        if self.exhausted:
            if not before and self.on_exhausted is not None:
                self.on_exhausted()
            self._reset_all()
            raise _Spent

    def _reset_all(self) -> None:
        for writer in list(self._writers):
            _reset(writer)


def _is_here(address: str) -> bool:
    """Whether a connection to this address would come to the proxy: Linux takes the unspecified ones for its own."""
    ip = literal(address)
    if isinstance(ip, IPv6Address):
        ip = ip.ipv4_mapped or ip
    return ip is not None and (ip.is_unspecified or ip == IPv4Address(HERE))


def _reset(writer: asyncio.StreamWriter) -> None:
    with suppress(OSError):
        writer.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _AT_ONCE)
    writer.transport.abort()


async def _read_answer(reader: asyncio.StreamReader) -> Head:
    told = await read_head(reader)
    while told is not None and 100 <= told.status < 200 and told.status != 101:
        told = await read_head(reader)
    # 407 is a proxy's word: from anybody else it could only be after our password
    if told is None or told.status in (101, 407):
        raise BadHead("no answer to this request")
    return told


async def _first_of(*both: Awaitable[None]) -> None:
    """Runs both until one of them ends: who hangs up ends the talk."""
    tasks = [asyncio.ensure_future(each) for each in both]
    try:
        done, _ = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
    for task in done:
        task.result()
