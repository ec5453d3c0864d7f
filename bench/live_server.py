"""The server that `bench.server_live` watches jobs on: says `ready` and its port. Usage: live_server URL KEY"""

import asyncio
import socket
import sys

import uvicorn

from penstock import Penstock
from penstock.server import Server, ServerSettings


async def serve(url: str, key: str) -> None:
    api = Server(Penstock(url), ServerSettings(service_key=key)).asgi
    listening = socket.create_server(("127.0.0.1", 0), backlog=4096)
    config = uvicorn.Config(api, http="httptools", ws="none", access_log=False, log_level="warning", lifespan="off")
    print("ready", listening.getsockname()[1], flush=True)
    await uvicorn.Server(config).serve([listening])


if __name__ == "__main__":
    import uvloop

    uvloop.install()
    asyncio.run(serve(*sys.argv[1:]))
