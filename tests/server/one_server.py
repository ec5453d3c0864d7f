"""A server in a process of its own, on a free port that it prints."""

import asyncio
import socket

import uvicorn

from penstock import Penstock
from penstock.server import Server, ServerSettings


async def main() -> None:
    listening = socket.create_server(("127.0.0.1", 0))
    server = Server(Penstock(), ServerSettings.from_environment())
    print(listening.getsockname()[1], flush=True)
    config = uvicorn.Config(server.asgi, http="httptools", ws="none", log_level="warning", lifespan="off")
    await uvicorn.Server(config).serve([listening])


if __name__ == "__main__":
    asyncio.run(main())
