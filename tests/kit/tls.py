"""TLS in front of a server that has none: PyPI's Valkey is built without."""

import asyncio
import ssl
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress


@contextmanager
def encrypted(port: int, context: ssl.SSLContext) -> Iterator[int]:
    """The port of localhost behind which there is `port`, spoken to in TLS."""
    ready, ports = threading.Event(), list[int]()
    loop, over = asyncio.new_event_loop(), asyncio.Event()

    async def pass_on(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while data := await reader.read(65536):
                writer.write(data)
                await writer.drain()
        finally:
            writer.close()

    async def join(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        inner, outer = await asyncio.open_connection("127.0.0.1", port)
        with suppress(OSError, asyncio.CancelledError):
            async with asyncio.TaskGroup() as both:
                both.create_task(pass_on(reader, outer))
                both.create_task(pass_on(inner, writer))

    async def serve() -> None:
        # who does not trust the certificate goes away in the middle of it
        loop.set_exception_handler(lambda *_: None)
        server = await asyncio.start_server(join, "127.0.0.1", 0, ssl=context)
        ports.append(server.sockets[0].getsockname()[1])
        ready.set()
        await over.wait()
        server.close()

    def run() -> None:
        with asyncio.Runner(loop_factory=lambda: loop) as runner:  # which cancels whatever is left
            runner.run(serve())

    thread = threading.Thread(target=run)
    thread.start()
    assert ready.wait(30)
    try:
        yield ports[0]
    finally:
        loop.call_soon_threadsafe(over.set)
        thread.join()
