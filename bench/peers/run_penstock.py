"""Penstock as it is: 50 slots on asyncio's own loop; while handlers are short the worker claims up to 2,000 at once by
itself, and reports up to 1,000. Bulk is `enqueue_many`, which is COPY. Finished jobs move to history, where they
stay."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from bench.payload import Document
from bench.peers.protocol import Arguments, Enqueue, EnqueueMany, Handle, Peer, Run, main
from penstock import Handler, Penstock

CONCURRENCY = 50


class PenstockPeer(Peer):
    concurrency = CONCURRENCY

    async def prepare(self, url: str) -> None:
        Penstock(url).migrate()

    @asynccontextmanager
    async def filler(self, url: str) -> AsyncIterator[EnqueueMany]:
        async with Penstock(url) as app:
            small, large = self.handler(app, _nothing), self.documents(app, _nothing)

            async def enqueue_many(arguments: list[Arguments]) -> None:
                await (large if "document" in arguments[0] else small).aenqueue_many(arguments)

            yield enqueue_many

    @asynccontextmanager
    async def worker(self, url: str, handle: Handle) -> AsyncIterator[Run]:
        async with Penstock(url) as app:
            self.handler(app, handle)
            self.documents(app, handle)
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

    def documents(self, app: Penstock, handle: Handle) -> Handler[[int, Document], None]:
        @app.job
        async def read(n: int, document: Document) -> None:
            del document
            handle(n)

        return read


def _nothing(n: int) -> None:
    del n


if __name__ == "__main__":
    main(PenstockPeer())
