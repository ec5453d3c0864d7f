"""The API: `python -m tests.chaos.api PARENT URL`. Prints its address, and runs until it is killed."""

import asyncio
import sys

from penstock.server import Server, ServerSettings
from tests.chaos.handlers import make_app
from tests.chaos.programs import end_with_parent
from tests.kit.serving import KEY, SECRET, open_port, running


async def serve(url: str) -> None:
    server = Server(make_app(url), ServerSettings(service_key=KEY, jwt_secret=SECRET))
    async with running(server, open_port()) as address:
        print(address, flush=True)
        await asyncio.Event().wait()


def main(parent: str, url: str) -> None:
    end_with_parent(int(parent))
    asyncio.run(serve(url))


if __name__ == "__main__":
    main(*sys.argv[1:])
