"""Another HTTP service, on loopback: it answers as a test wants, badly too, and keeps what it was asked."""

import asyncio
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from http import HTTPStatus


@dataclass
class Request:
    method: str
    path: str
    headers: dict[str, str]
    body: bytes


@dataclass
class Answer:
    """`pieces` instead of a body: sent one by one, with no length told."""

    status: int = 200
    body: bytes = b""
    headers: Mapping[str, str] = field(default_factory=dict)
    pieces: AsyncIterator[bytes] | None = None


@dataclass
class FakeServer:
    port: int
    scheme: str
    requests: list[Request] = field(default_factory=list)
    host: str = "127.0.0.1"

    @property
    def url(self) -> str:
        return self.at(self.host)

    def at(self, host: str, path: str = "/") -> str:
        return f"{self.scheme}://{host}:{self.port}{path}"


@asynccontextmanager
async def fake_server(
    answer: Callable[[Request], Awaitable[Answer] | Answer],
    tls: ssl.SSLContext | None = None,
    port: int = 0,
    host: str = "127.0.0.1",
) -> AsyncIterator[FakeServer]:
    """Serves while the block lasts."""
    tasks: set[asyncio.Task[None]] = set()

    async def converse(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        tasks.add(task)
        try:
            request = await _read(reader)
            server.requests.append(request)
            answered = answer(request)
            await _write(writer, answered if isinstance(answered, Answer) else await answered)
        except (ConnectionError, asyncio.IncompleteReadError, asyncio.CancelledError):
            pass
        finally:
            tasks.discard(task)
            writer.close()
            with suppress(ConnectionError, ssl.SSLError, asyncio.CancelledError):
                await writer.wait_closed()

    listening = await asyncio.start_server(converse, host, port, ssl=tls)
    server = FakeServer(listening.sockets[0].getsockname()[1], "https" if tls else "http", host=host)
    try:
        yield server
    finally:
        listening.close()
        for task in list(tasks):
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


async def _read(reader: asyncio.StreamReader) -> Request:
    head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
    first, *lines = head.strip().split("\r\n")
    method, path, _ = first.split(" ")
    headers = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in lines)}
    return Request(method, path, headers, await reader.readexactly(int(headers.get("content-length", 0))))


async def _write(writer: asyncio.StreamWriter, answer: Answer) -> None:
    headers = {"Connection": "close", **answer.headers}
    if answer.pieces is None:
        headers["Content-Length"] = str(len(answer.body))
    phrase = HTTPStatus(answer.status).phrase if answer.status in HTTPStatus._value2member_map_ else "Unheard Of"
    lines = [f"HTTP/1.1 {answer.status} {phrase}", *(f"{k}: {v}" for k, v in headers.items())]
    writer.write(("\r\n".join(lines) + "\r\n\r\n").encode("latin-1") + answer.body)
    await writer.drain()
    if answer.pieces is not None:
        async for piece in answer.pieces:
            writer.write(piece)
            await writer.drain()
