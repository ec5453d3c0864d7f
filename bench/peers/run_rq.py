"""RQ with its SimpleWorker, which runs jobs in the worker itself (its notes on performance: six times its default of a
process for each job, but "run Worker or SpawnWorker in production"). Results are not kept (`result_ttl` 0), logs are
off; bulk is `enqueue_many` through a pipeline."""

import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from redis import Redis
from rq import Queue, SimpleWorker

from bench.payload import Document
from bench.peers import run_rq
from bench.peers.protocol import Arguments, Enqueue, EnqueueMany, Handle, Peer, Run, main

NOOP = "bench.peers.run_rq.noop"

handles: list[Handle] = []


def noop(n: int, document: Document | None = None) -> None:
    del document
    handles[0](n)


class RqPeer(Peer):
    blocks = True

    async def prepare(self, url: str) -> None:
        pass

    @asynccontextmanager
    async def filler(self, url: str) -> AsyncIterator[EnqueueMany]:
        queue = Queue(connection=Redis.from_url(url))

        async def enqueue_many(arguments: list[Arguments]) -> None:
            queue.enqueue_many([Queue.prepare_data(NOOP, kwargs=each, result_ttl=0) for each in arguments])

        yield enqueue_many

    @asynccontextmanager
    async def worker(self, url: str, handle: Handle) -> AsyncIterator[Run]:
        # jobs find the function by its name, in the module of that name: this one is __main__
        run_rq.handles.append(handle)
        connection = Redis.from_url(url)
        logging.getLogger("rq.worker").setLevel(logging.CRITICAL)

        async def run() -> None:
            SimpleWorker([Queue(connection=connection)], connection=connection).work(logging_level="CRITICAL")

        yield run

    @asynccontextmanager
    async def enqueuer(self, url: str) -> AsyncIterator[Enqueue]:
        queue = Queue(connection=Redis.from_url(url))

        async def enqueue(n: int) -> None:
            queue.enqueue(NOOP, n=n, result_ttl=0)

        yield enqueue


if __name__ == "__main__":
    main(RqPeer())
