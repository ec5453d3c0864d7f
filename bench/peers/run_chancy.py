"""chancy with its asyncio executor, 1,000 jobs at once, `eager_polling` on (a look after each job that ended) and
notifications, on uvloop. Finished jobs are written every 0.1 s where it would be every second
(`send_outgoing_interval`), and stay until its pruner comes."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import uvloop
from chancy import Chancy, Queue, Worker, job

from bench.payload import Document
from bench.peers.protocol import Arguments, Enqueue, EnqueueMany, Handle, Peer, Run, main

AT_ONCE = 1000
POOL = 10
REPORTED = 0.1
"""Seconds between reports."""

_handle: Handle


@job()  # type: ignore[untyped-decorator]
async def noop(*, n: int, document: Document | None = None) -> None:
    del document
    _handle(n)


class ChancyPeer(Peer):
    async def prepare(self, url: str) -> None:
        async with Chancy(url) as chancy:
            await chancy.migrate()
            await chancy.declare(
                Queue("default", concurrency=AT_ONCE, executor=Chancy.Executor.Async, eager_polling=True,
                      polling_interval=1), upsert=True,
            )  # fmt: skip

    @asynccontextmanager
    async def filler(self, url: str) -> AsyncIterator[EnqueueMany]:
        async with Chancy(url) as chancy:

            async def enqueue_many(arguments: list[Arguments]) -> None:
                async for _ in chancy.push_many([noop.job.with_kwargs(**each) for each in arguments]):
                    pass

            yield enqueue_many

    @asynccontextmanager
    async def worker(self, url: str, handle: Handle) -> AsyncIterator[Run]:
        global _handle
        _handle = handle

        async def run() -> None:
            async with Worker(chancy) as worker:
                worker.send_outgoing_interval = REPORTED
                await asyncio.Event().wait()

        async with Chancy(url, min_connection_pool_size=POOL, max_connection_pool_size=POOL) as chancy:
            yield run

    @asynccontextmanager
    async def enqueuer(self, url: str) -> AsyncIterator[Enqueue]:
        async with Chancy(url, min_connection_pool_size=POOL, max_connection_pool_size=16) as chancy:
            yield lambda n: chancy.push(noop.job.with_kwargs(n=n))


if __name__ == "__main__":
    main(ChancyPeer(), uvloop.new_event_loop)
