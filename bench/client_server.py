"""An API process as `penstock server` runs it: says `ready` and its port. Usage: client_server URL KEY SECRET"""

import asyncio
import socket
import sys

import uvloop

from penstock import Penstock
from penstock.server import Server, ServerSettings
from penstock.server.http.uvicorn import HttpServer, open_socket

MOST = 100_000
"""Connections: what this machine allows is less."""


async def serve(url: str, key: str, secret: str) -> None:
    app = Penstock(url)

    @app.job(users=True)
    async def nothing(number: int) -> None: ...

    settings = ServerSettings(service_key=key, jwt_secret=secret, max_connections=MOST)
    listening: socket.socket = open_socket("127.0.0.1", 0)
    http = HttpServer(Server(app, settings), listening)
    http.listen()
    print("ready", listening.getsockname()[1], flush=True)
    await http.run()


if __name__ == "__main__":
    uvloop.install()
    asyncio.run(serve(*sys.argv[1:]))
