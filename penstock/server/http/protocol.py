"""uvicorn's HTTP protocol with limits on what it does not limit: headers, time, and connections.

httptools hands over header by header and keeps them all: 75 MB of tiny ones on one connection took a server from 218 MB
to 1.9 GB. And uvicorn waits without end for a request that has begun, for the rest of a body that nobody reads, and for
whoever does not read the answer: closing a transport only begins to end it, until all is sent.
"""

import asyncio
import fcntl
import socket
import struct
import sys
import termios
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import httptools
import msgspec
from uvicorn.protocols.http.httptools_impl import STATUS_LINE, HttpToolsProtocol

from penstock.server.http.problems import CONTENT_TYPE
from penstock.server.settings import ServerSettings

_PIPELINED = 32
"""Requests that a connection may send before the first is answered; whatever one read brings is taken at once."""


@dataclass(frozen=True, slots=True)
class Limits:
    headers: int
    header_bytes: int
    header_seconds: float
    write_seconds: float
    connections: int
    leftover_seconds: float = 5.0
    """That the rest of a body may take which is not wanted: its sender may be busy writing, and would not read the
    answer if the connection ended at once."""


class LimitedProtocol(HttpToolsProtocol):
    limits: Limits

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._in_head = True
        self._in_message = False
        self._head_bytes = 0
        self._header_bytes = 0
        self._refusal: tuple[int, str] | None = None
        self._deadline: asyncio.TimerHandle | None = None
        self._unread = 0
        self._write_deadline: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        # paused is then whatever has anything to send that the system does not take, closing or not
        transport.set_write_buffer_limits(high=0)
        if len(self.connections) > self.limits.connections:
            self._refuse(503, "the server has too many connections; try again")
        else:
            self._set_deadline(self.limits.header_seconds)

    def connection_lost(self, exc: Exception | None) -> None:
        self._clear_deadline()
        self._clear_write_deadline()
        super().connection_lost(exc)

    def pause_writing(self) -> None:
        super().pause_writing()
        self._set_write_deadline()

    def resume_writing(self) -> None:
        self._clear_write_deadline()
        super().resume_writing()

    def data_received(self, data: bytes) -> None:
        if self._refusal is not None or self.transport.is_closing():
            return
        if self._in_head:
            self._head_bytes += len(data)
            if self._deadline is None:
                self._set_deadline(self.limits.header_seconds)
        super().data_received(data)
        if self._in_head and self._head_bytes > self.limits.header_bytes and self._refusal is None:
            # one header, or the address, that does not end: httptools keeps it until it does
            self._refuse(431, f"the headers are over the limit of {self.limits.header_bytes:,} bytes")

    def on_message_begin(self) -> None:
        super().on_message_begin()
        self._in_message = True
        self._header_bytes = 0

    def on_url(self, url: bytes) -> None:
        self._count(len(url))
        super().on_url(url)

    def on_header(self, name: bytes, value: bytes) -> None:
        self._count(len(name) + len(value))
        if len(self.headers) >= self.limits.headers:
            self._refusal = 431, f"there are more than {self.limits.headers} headers"
            raise httptools.HttpParserError
        super().on_header(name, value)

    def on_headers_complete(self) -> None:
        self._in_head = False
        self._head_bytes = 0
        self._clear_deadline()
        if len(self.pipeline) >= _PIPELINED:
            self._refusal = 429, "too many requests at once on one connection"
            raise httptools.HttpParserError
        super().on_headers_complete()

    def on_message_complete(self) -> None:
        self._in_message = False
        self._in_head = True
        if self.cycle is not None and self.cycle.response_complete:
            self._clear_deadline()
        super().on_message_complete()

    def on_response_complete(self) -> None:
        super().on_response_complete()
        if self._in_message and not self.pipeline and not self.transport.is_closing():
            self._set_deadline(self.limits.leftover_seconds)

    def send_400_response(self, msg: str) -> None:  # noqa: ARG002 - uvicorn's words
        status, told = self._refusal or (400, "this is not an HTTP request")
        self._refuse(status, told)

    def _count(self, size: int) -> None:
        self._header_bytes += size
        if self._header_bytes > self.limits.header_bytes:
            self._refusal = 431, f"the headers are over the limit of {self.limits.header_bytes:,} bytes"
            raise httptools.HttpParserError

    def _set_deadline(self, seconds: float) -> None:
        self._clear_deadline()
        self._deadline = self.loop.call_later(seconds, self._expire)

    def _clear_deadline(self) -> None:
        if self._deadline is not None:
            self._deadline.cancel()
            self._deadline = None

    def _expire(self) -> None:
        self._deadline = None
        if self._in_head and self._head_bytes:
            self._refuse(408, "the request did not arrive in time")
        else:
            self.transport.close()

    def _set_write_deadline(self) -> None:
        self._unread = self._count_unread()
        self._write_deadline = self.loop.call_later(self.limits.write_seconds, self._look_whether_it_reads)

    def _clear_write_deadline(self) -> None:
        if self._write_deadline is not None:
            self._write_deadline.cancel()
            self._write_deadline = None

    def _look_whether_it_reads(self) -> None:
        if self._count_unread() < self._unread:
            self._set_write_deadline()
            return
        # a reset: the system would go on offering what is left for minutes, and keep it so long
        with suppress(OSError):
            connection: socket.socket = self.transport.get_extra_info("socket")
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.transport.abort()

    def _count_unread(self) -> int:
        """Bytes, those included that the system holds: it takes more only when a third of its room is free again."""
        held = bytearray(4)
        with suppress(OSError):
            fcntl.ioctl(self.transport.get_extra_info("socket"), termios.TIOCOUTQ, held)
        return self.transport.get_write_buffer_size() + int.from_bytes(held, sys.byteorder)

    def _refuse(self, status: int, told: str) -> None:
        """Answers without asking the application, unless it is already answering, and ends the connection."""
        self._refusal = status, told
        self._clear_deadline()
        if self.cycle is None or self.cycle.response_complete:
            phrase = STATUS_LINE[status].split(b" ", 2)[2].strip().decode()
            problem = {"type": "about:blank", "title": phrase, "status": status, "detail": told}
            body = msgspec.json.encode(problem)
            about = f"content-type: {CONTENT_TYPE}\r\ncontent-length: {len(body)}\r\nconnection: close\r\n\r\n"
            self.transport.write(STATUS_LINE[status] + about.encode() + body)
        self.transport.close()


def protocol_for(settings: ServerSettings, connections: int) -> type[LimitedProtocol]:
    limits = Limits(
        headers=settings.max_headers,
        header_bytes=settings.max_header_bytes,
        header_seconds=settings.header_timeout,
        write_seconds=settings.write_timeout,
        connections=connections,
    )
    return type("Protocol", (LimitedProtocol,), {"limits": limits})
