"""Clients that ask at an interval, as people's pages do: over a connection that they keep, or over a new one."""

import asyncio
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import cast

SOURCES = 8
"""Addresses of the loopback that connections come from: each has 28,000 ports to one address."""


def source_of(n: int) -> str:
    return f"127.0.0.{2 + n % SOURCES}"


@dataclass
class Tally:
    took_ms: list[float] = field(default_factory=list)
    statuses: Counter[int] = field(default_factory=Counter)
    lost: int = 0
    """Connections that ended before their answer."""


class _Asking(asyncio.Protocol):
    """One request and its answer at a time."""

    def __init__(self, tally: Tally) -> None:
        self._tally = tally
        self._transport: asyncio.Transport | None = None
        self._read = b""
        self._sent = 0.0
        self.answered: asyncio.Future[None] | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)

    def ask(self, request: bytes) -> asyncio.Future[None]:
        assert self._transport is not None
        self.answered = asyncio.get_running_loop().create_future()
        self._sent, self._read = time.perf_counter(), b""
        self._transport.write(request)
        return self.answered

    def data_received(self, data: bytes) -> None:
        self._read += data
        head, found, body = self._read.partition(b"\r\n\r\n")
        if not found or self.answered is None or self.answered.done():
            return
        status = int(head[9:12])
        _, _, length = head.lower().partition(b"content-length: ")
        if status != 304 and len(body) < int(length.split(b"\r\n", 1)[0]):
            return
        self._tally.took_ms.append((time.perf_counter() - self._sent) * 1000)
        self._tally.statuses[status] += 1
        self.answered.set_result(None)

    def connection_lost(self, _: Exception | None) -> None:
        if self.answered is not None and not self.answered.done():
            self._tally.lost += 1
            self.answered.set_result(None)

    def close(self) -> None:
        if self._transport is not None:
            self._transport.close()

    @property
    def closed(self) -> bool:
        return self._transport is None or self._transport.is_closing()


async def poll(
    ports: Sequence[int], requests: Sequence[bytes], *, clients: int, every: float, seconds: float, kept: bool
) -> Tally:
    """So many clients, each of which asks every so many seconds, spread evenly over that time; at 0 as fast as the
    answers come."""
    tally = Tally()
    began = time.perf_counter()
    loop = asyncio.get_running_loop()

    async def client(n: int) -> None:
        connection: _Asking | None = None
        due = began + every * n / clients
        while due < began + seconds:
            await asyncio.sleep(max(0.0, due - time.perf_counter()))
            if connection is None or connection.closed or not kept:
                if connection is not None:
                    connection.close()
                _, connection = await loop.create_connection(
                    partial(_Asking, tally), "127.0.0.1", ports[n % len(ports)], local_addr=(source_of(n), 0)
                )
            await connection.ask(requests[n % len(requests)])
            due = max(due + every, time.perf_counter())
        if connection is not None:
            connection.close()

    await asyncio.gather(*(client(n) for n in range(clients)))
    return tally
