"""Celery with the solo pool, which runs tasks in the worker itself (a pool of threads drained alike). Results are
ignored, `worker_prefetch_multiplier` is 128 as its guide has it for many short tasks, rate limits, gossip, mingle and
heartbeats are off. Bulk is one producer held for many calls: it has no call for many tasks. A finished one is gone."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from celery import Celery

from bench.payload import Document
from bench.peers.protocol import Arguments, Enqueue, EnqueueMany, Handle, Peer, Run, main

PREFETCHED = 128


class CeleryPeer(Peer):
    blocks = True

    async def prepare(self, url: str) -> None:
        pass

    @asynccontextmanager
    async def filler(self, url: str) -> AsyncIterator[EnqueueMany]:
        app = _app(url)

        async def enqueue_many(arguments: list[Arguments]) -> None:
            with app.producer_pool.acquire(block=True) as producer:
                for each in arguments:
                    app.send_task("noop", kwargs=each, producer=producer)

        yield enqueue_many

    @asynccontextmanager
    async def worker(self, url: str, handle: Handle) -> AsyncIterator[Run]:
        app = _app(url)

        def noop(n: int, document: Document | None = None) -> None:
            del document
            handle(n)

        app.task(noop, name="noop")

        async def run() -> None:
            app.Worker(
                pool="solo", quiet=True, loglevel="CRITICAL",
                without_gossip=True, without_mingle=True, without_heartbeat=True,
            ).start()  # fmt: skip

        yield run

    @asynccontextmanager
    async def enqueuer(self, url: str) -> AsyncIterator[Enqueue]:
        app = _app(url)

        async def enqueue(n: int) -> None:
            app.send_task("noop", kwargs={"n": n})

        yield enqueue


def _app(url: str) -> Celery:
    app = Celery("bench", broker=url)
    app.conf.update(
        task_ignore_result=True, worker_prefetch_multiplier=PREFETCHED, worker_disable_rate_limits=True,
        broker_pool_limit=16, broker_connection_retry_on_startup=True,
        # what the runner says is for us
        worker_redirect_stdouts=False, worker_hijack_root_logger=False,
    )  # fmt: skip
    return app


if __name__ == "__main__":
    main(CeleryPeer())
