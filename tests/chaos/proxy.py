"""A wire to Postgres that misbehaves when told to: `python -m tests.chaos.proxy PARENT SOCKET`.

Listens on a loopback port, which it prints, and passes bytes on to the server's unix socket. Orders come on its stdin,
one a line, each answered by a line; it ends when its stdin does:

    cut           ends every connection, and takes no new one
    delay SECONDS each way
    freeze        takes connections and keeps them, and passes nothing on; all of it goes on when healed
    vanish        the same, but what was connected meanwhile is never answered again, as after a failover
    heal
"""

import asyncio
import sys
from collections.abc import Coroutine
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

from tests.chaos.programs import end_with_parent

Reader = asyncio.StreamReader
Writer = asyncio.StreamWriter


@dataclass(eq=False)
class Line:
    """One client's connection."""

    task: "asyncio.Task[None]"
    gone: asyncio.Event = field(default_factory=asyncio.Event)


class Proxy:
    def __init__(self, socket: str) -> None:
        self._socket = socket
        self._lines: set[Line] = set()
        self._flowing = asyncio.Event()
        self._flowing.set()
        self._refusing = False
        self._vanishing = False
        self._delay = 0.0

    def obey(self, order: str) -> None:
        match order.split():
            case ["cut"]:
                self._refusing = True
                for line in self._lines:
                    line.task.cancel()
            case ["delay", seconds]:
                self._delay = float(seconds)
            case ["freeze"]:
                self._flowing.clear()
            case ["vanish"]:
                self._flowing.clear()
                self._vanishing = True
            case ["heal"]:
                self._heal()
            case _:
                raise ValueError(f"no such order: {order!r}")

    def _heal(self) -> None:
        if self._vanishing:
            for line in self._lines:
                line.gone.set()
        self._refusing = self._vanishing = False
        self._delay = 0.0
        self._flowing.set()

    async def take(self, reader: Reader, writer: Writer) -> None:
        """Serves one client."""
        task = asyncio.current_task()
        assert task is not None
        line = Line(task)
        self._lines.add(line)
        try:
            with suppress(OSError):  # the server is down: the client's connection ends at once
                if not self._refusing:
                    await self._carry(line, reader, writer)
                while line.gone.is_set() and await reader.read(65536):
                    pass  # it talks to nobody, until it gives up
        except asyncio.CancelledError:
            pass  # cut
        finally:
            self._lines.discard(line)
            writer.transport.abort()

    async def _carry(self, line: Line, reader: Reader, writer: Writer) -> None:
        """Until either end closes, or the line is gone."""
        if not self._flowing.is_set():
            await self._first(line, self._flowing.wait())
            if line.gone.is_set():
                return
        to_reader, to_writer = await asyncio.open_unix_connection(self._socket)
        try:
            await self._first(line, self._pump(reader, to_writer), self._pump(to_reader, writer))
        finally:
            to_writer.transport.abort()

    async def _first(self, line: Line, *ends: Coroutine[Any, Any, object]) -> None:
        tasks = [asyncio.create_task(each) for each in (line.gone.wait(), *ends)]
        try:
            await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)

    async def _pump(self, reader: Reader, writer: Writer) -> None:
        """Reads ahead of what it writes, so that a delay costs each byte the same and no throughput."""
        now = asyncio.get_running_loop().time
        under_way: asyncio.Queue[tuple[float, bytes]] = asyncio.Queue(maxsize=64)

        async def read() -> None:
            part = b"-"
            while part:
                try:
                    part = await reader.read(65536)
                except OSError:
                    part = b""
                await under_way.put((now() + self._delay, part))

        reading = asyncio.create_task(read())
        try:
            while True:
                due, part = await under_way.get()
                await asyncio.sleep(max(0.0, due - now()))
                await self._flowing.wait()
                if not part:
                    return
                writer.write(part)
                await writer.drain()
        finally:
            reading.cancel()


async def serve(socket: str) -> None:
    proxy = Proxy(socket)
    server = await asyncio.start_server(proxy.take, "127.0.0.1", 0)
    print(server.sockets[0].getsockname()[1], flush=True)
    orders = asyncio.StreamReader()
    await asyncio.get_running_loop().connect_read_pipe(lambda: asyncio.StreamReaderProtocol(orders), sys.stdin)
    while order := await orders.readline():
        proxy.obey(order.decode())
        print("done", flush=True)


if __name__ == "__main__":
    end_with_parent(int(sys.argv[1]))
    asyncio.run(serve(sys.argv[2]))
