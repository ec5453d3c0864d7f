"""Our own worker with jobs that sleep for a second, a thousand at a time."""

import asyncio

from bench.peers.protocol import Handle, main
from bench.peers.run_penstock import PenstockPeer
from penstock import Handler, Penstock


class NappingPeer(PenstockPeer):
    concurrency = 1000

    def handler(self, app: Penstock, handle: Handle) -> Handler[[int], None]:
        @app.job
        async def nap(n: int) -> None:
            await asyncio.sleep(1)
            handle(n)

        return nap


if __name__ == "__main__":
    main(NappingPeer())
