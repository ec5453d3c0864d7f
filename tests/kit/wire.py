"""A TCP connection on the way to a server that can be cut, or fall silent, and healed."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress


class Wire:
    def __init__(self, port: int) -> None:
        self._to = port
        self._lines: set[asyncio.Task[None]] = set()
        self._streaming: set[asyncio.Task[None]] = set()
        self._silent: set[asyncio.Task[None]] = set()
        self._whole = True
        self.address = ""

    def cut(self) -> None:
        """Ends what is connected, and refuses whoever comes."""
        self._whole = False
        for line in self._lines:
            line.cancel()

    async def end(self) -> None:
        """Cuts it for good, and leaves no connection behind."""
        lines = list(self._lines)
        self.cut()
        await asyncio.gather(*lines, return_exceptions=True)

    def heal(self) -> None:
        self._whole = True

    def silence(self) -> None:
        """Streams stay open, and nothing passes any more; connections without one are ended, and whoever comes is
        served."""
        self._silent |= self._streaming
        for line in self._lines - self._silent:
            line.cancel()

    async def take(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        line = asyncio.current_task()
        assert line is not None
        self._lines.add(line)
        try:
            with suppress(OSError, asyncio.CancelledError):
                if self._whole:
                    await self._carry(line, reader, writer)
        finally:
            for lines in (self._lines, self._streaming, self._silent):
                lines.discard(line)
            writer.transport.abort()

    async def _carry(
        self, line: "asyncio.Task[None]", reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        there, to_there = await asyncio.open_connection("127.0.0.1", self._to)
        ways = (self._pump(line, reader, to_there), self._pump(line, there, writer))
        pumps = [asyncio.ensure_future(way) for way in ways]
        try:
            await asyncio.wait(pumps, return_when=asyncio.FIRST_COMPLETED)
        finally:
            # first: cancelled while it waits for the pumps, it would leave this one open
            to_there.transport.abort()
            for pump in pumps:
                pump.cancel()
            await asyncio.gather(*pumps, return_exceptions=True)

    async def _pump(
        self, line: "asyncio.Task[None]", reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        while part := await reader.read(65536):
            if b"/stream HTTP/1.1\r\n" in part:
                self._streaming.add(line)
            if line not in self._silent:
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
        await wire.end()
        await server.wait_closed()
