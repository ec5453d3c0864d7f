"""Our own worker, by its public API."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from bench.peers.protocol import Enqueue, Handle, Peer, Run, main
from penstock import Handler, Penstock

CONCURRENCY = 50


class PenstockPeer(Peer):
    concurrency = CONCURRENCY

    async def prepare(self, url: str) -> None:
        Penstock(url).migrate()

    async def fill(self, url: str, jobs: int) -> None:
        async with Penstock(url) as app:
            handler = self.handler(app, _nothing)
            for start in range(0, jobs, 10_000):
                await handler.aenqueue_many([{"n": n} for n in range(start, min(start + 10_000, jobs))])

    @asynccontextmanager
    async def worker(self, url: str, handle: Handle) -> AsyncIterator[Run]:
        async with Penstock(url) as app:
            self.handler(app, handle)
            yield lambda: app.run_worker(queues={"default": self.concurrency})

    @asynccontextmanager
    async def enqueuer(self, url: str) -> AsyncIterator[Enqueue]:
        async with Penstock(url) as app:
            yield self.handler(app, _nothing).aenqueue

    def handler(self, app: Penstock, handle: Handle) -> Handler[[int], None]:
        @app.job
        async def noop(n: int) -> None:
            handle(n)

        return noop


def _nothing(n: int) -> None:
    del n


if __name__ == "__main__":
    main(PenstockPeer())
