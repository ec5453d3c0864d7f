"""A real server on a loopback port, and a client that reads events off a socket."""

import asyncio
import json
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

from penstock import Penstock
from tests.kit.serving import AS_SERVICE, Served, served


@asynccontextmanager
async def serving(url: str, **settings: Any) -> AsyncIterator[Served]:
    async with Penstock(url) as app, served(app, **settings) as server:
        yield server


@dataclass
class Event:
    name: str
    data: dict[str, Any]
    id: str | None


@dataclass
class Client:
    """What the server answered, and what it goes on telling."""

    status: int
    headers: dict[str, str]
    reader: asyncio.StreamReader
    writer: asyncio.StreamWriter
    comments: list[str] = field(default_factory=list)
    retry: str | None = None

    async def event(self, within: float = 20.0) -> Event | None:
        """The next event; None when the stream has ended."""
        async with asyncio.timeout(within):
            while True:
                fields = await self._block()
                if fields is None:
                    return None
                if "event" in fields:
                    return Event(fields["event"], json.loads(fields["data"]), fields.get("id"))

    async def events(self) -> list[Event]:
        """All of them, to the end."""
        found = []
        while (event := await self.event()) is not None:
            found.append(event)
        return found

    async def comment(self, within: float = 20.0) -> str:
        """The next comment; there must be no event before it."""
        before = len(self.comments)
        async with asyncio.timeout(within):
            while len(self.comments) == before:
                fields = await self._block()
                assert fields is not None, "the stream has ended"
                assert "event" not in fields
        return self.comments[-1]

    async def _block(self) -> dict[str, str] | None:
        """Events are never cut in two: each piece of the response holds whole ones, here always one."""
        size = int(await self.reader.readline(), 16)
        piece = (await self.reader.readexactly(size + 2))[:-2].decode()
        if size == 0:
            return None
        assert piece.endswith("\n\n")
        fields = {}
        for line in piece.rstrip("\n").split("\n"):
            name, _, value = line.partition(": ")
            if name == "":
                self.comments.append(value)
            else:
                fields[name] = value
        self.retry = fields.get("retry", self.retry)
        return fields

    async def body(self) -> Any:
        """Of an answer that is no stream."""
        return json.loads(await self.reader.readexactly(int(self.headers["content-length"])))


@asynccontextmanager
async def streaming(
    port: int, path: str, headers: dict[str, str] = AS_SERVICE, *, buffer: int = 0
) -> AsyncIterator[Client]:
    """A client connected to a stream; `buffer` is the size of its socket's, for one that does not read."""
    wire = socket.socket()
    if buffer:
        wire.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, buffer)
    wire.setblocking(False)
    await asyncio.get_running_loop().sock_connect(wire, ("127.0.0.1", port))
    reader, writer = await asyncio.open_connection(sock=wire, limit=2**16)
    lines = [f"GET {path} HTTP/1.1", "Host: here", *(f"{name}: {value}" for name, value in headers.items())]
    writer.write("\r\n".join([*lines, "", ""]).encode())
    try:
        async with asyncio.timeout(20):
            status = int((await reader.readline()).split()[1])
            shown = {}
            while (line := (await reader.readline()).decode().strip()) != "":
                name, _, value = line.partition(": ")
                shown[name.lower()] = value
        yield Client(status, shown, reader, writer)
    finally:
        writer.close()


def path_of(id: object) -> str:
    return f"/api/jobs/{id}/stream"
