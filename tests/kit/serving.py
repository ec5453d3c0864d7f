"""A Penstock server on a loopback port, in this process: run as `penstock server` runs it."""

import asyncio
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

import httpx

from penstock import Penstock
from penstock.server import Server, ServerSettings
from penstock.server.auth.development import SignIn
from penstock.server.http.uvicorn import HttpServer
from penstock.server.live.hub import Hub
from tests.kit.until import soon

KEY = "a-service-key-of-the-tests"
SECRET = "a-secret-of-the-tests-with-32-bytes"
AS_SERVICE = {"Authorization": f"Bearer {KEY}"}


@dataclass(frozen=True)
class Served:
    """A server that answers, and a client that knows where."""

    app: Penstock
    server: Server
    address: str
    client: httpx.AsyncClient

    @property
    def port(self) -> int:
        return int(self.address.rpartition(":")[2])

    @property
    def hub(self) -> Hub:
        return self.server.services.hub


def open_port(port: int = 0) -> socket.socket:
    """It listens from here on: whoever asks before the server runs waits for it, and is not refused."""
    return socket.create_server(("127.0.0.1", port))


@asynccontextmanager
async def running(server: Server, listening: socket.socket) -> AsyncIterator[str]:
    """The server's address. In the end its application is closed too, as that of a program is."""
    with listening:
        http = HttpServer(server, listening)
        task = asyncio.create_task(http.run())
        try:
            yield http.address
        finally:
            http.stop()
            await soon(task)


@asynccontextmanager
async def served(app: Penstock, *, sign_in: bool = False, **settings: Any) -> AsyncIterator[Served]:
    """The application's server while the block lasts, with the service key and the secret of the tests; with links to
    `sign_in` by as `penstock up` has them."""
    chosen = ServerSettings(**{"service_key": KEY, "jwt_secret": SECRET} | settings)
    server = Server(app, chosen, SignIn(chosen) if sign_in else None)
    async with (
        running(server, open_port()) as address,
        httpx.AsyncClient(base_url=address, timeout=90) as client,
    ):
        yield Served(app, server, address, client)
