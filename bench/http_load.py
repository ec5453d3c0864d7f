"""Requests over kept connections, one after the other on each, as fast as the answers come."""

import asyncio
import time
from functools import partial
from typing import cast


class _Connection(asyncio.Protocol):
    """Sends the same request again whenever its answer is complete; answers have a Content-Length."""

    def __init__(self, request: bytes, until: float, done: asyncio.Future[None]) -> None:
        self.answered = 0
        self.statuses: set[bytes] = set()
        self._request = request
        self._until = until
        self.done = done
        self._read = b""
        self._transport: asyncio.Transport | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)  # uvloop's is no subclass of asyncio's
        self._transport.write(self._request)

    def data_received(self, data: bytes) -> None:
        self._read += data
        head, found, body = self._read.partition(b"\r\n\r\n")
        if not found:
            return
        _, _, length = head.lower().partition(b"content-length: ")
        if len(body) < int(length.split(b"\r\n", 1)[0]):
            return
        self.statuses.add(head[9:12])
        self.answered += 1
        self._read = b""
        assert self._transport is not None
        if time.perf_counter() < self._until:
            self._transport.write(self._request)
        else:
            self._transport.close()

    def connection_lost(self, _: Exception | None) -> None:
        if not self.done.done():
            self.done.set_result(None)


async def load(port: int, request: bytes, *, connections: int, seconds: float) -> float:
    """Answers a second; raises when one of them was not a success."""
    loop = asyncio.get_running_loop()
    began = time.perf_counter()
    running = []
    for _ in range(connections):
        connection = _Connection(request, began + seconds, loop.create_future())
        await loop.create_connection(partial(_same, connection), "127.0.0.1", port)
        running.append(connection)
    await asyncio.gather(*(connection.done for connection in running))
    wrong = {status for connection in running for status in connection.statuses} - {b"200", b"202"}
    if wrong:
        raise RuntimeError(f"answers with status {wrong}")
    return sum(connection.answered for connection in running) / (time.perf_counter() - began)


def _same(connection: _Connection) -> _Connection:
    return connection


def request(method: str, path: str, *, token: str | None = None, body: bytes = b"") -> bytes:
    headers = [f"{method} {path} HTTP/1.1", "Host: localhost"]
    if token is not None:
        headers.append(f"Authorization: Bearer {token}")
    if body:
        headers += ["Content-Type: application/json", f"Content-Length: {len(body)}"]
    return ("\r\n".join(headers) + "\r\n\r\n").encode() + body
