"""A TCP connection on the way to a server that can be cut, and healed."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress


class Wire:
    def __init__(self, port: int) -> None:
        self._to = port
        self._lines: set[asyncio.Task[None]] = set()
        self.whole = True
        self.address = ""

    def cut(self) -> None:
        """Ends what is connected, and refuses whoever comes."""
        self.whole = False
        for line in self._lines:
            line.cancel()

    def heal(self) -> None:
        self.whole = True

    async def take(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._lines.add(task)
        try:
            with suppress(OSError, asyncio.CancelledError):
                if self.whole:
                    await self._carry(reader, writer)
        finally:
            self._lines.discard(task)
            writer.transport.abort()

    async def _carry(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        there, to_there = await asyncio.open_connection("127.0.0.1", self._to)
        pumps = [asyncio.ensure_future(_pump(reader, to_there)), asyncio.ensure_future(_pump(there, writer))]
        try:
            await asyncio.wait(pumps, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for pump in pumps:
                pump.cancel()
            await asyncio.gather(*pumps, return_exceptions=True)
            to_there.transport.abort()


async def _pump(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    while part := await reader.read(65536):
        writer.write(part)
        await writer.drain()


@asynccontextmanager
async def wire_to(port: int) -> AsyncIterator[Wire]:
    """Another address of the server at this port."""
    wire = Wire(port)
    server = await asyncio.start_server(wire.take, "127.0.0.1", 0)
    wire.address = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
    try:
        yield wire
    finally:
        server.close()
        wire.cut()
        await server.wait_closed()
