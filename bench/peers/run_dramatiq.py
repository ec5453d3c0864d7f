"""Dramatiq: one process of its usual 8 threads (one alone took more CPU a message, at half the rate), 1,000 messages
prefetched (`dramatiq_queue_prefetch`), looking again after at most 10 ms where it would be a second, for it polls;
without the middleware that times out and counts. It has no call for many messages. A finished one is gone."""

import asyncio
import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

os.environ["dramatiq_queue_prefetch"] = "1000"  # noqa: SIM112  (its spelling)

import dramatiq
from dramatiq.brokers.redis import RedisBroker
from dramatiq.middleware import Retries

from bench.payload import Document
from bench.peers.protocol import Arguments, Enqueue, EnqueueMany, Handle, Peer, Run, main

THREADS = 8
POLL_MS = 10


class DramatiqPeer(Peer):
    blocks = True

    async def prepare(self, url: str) -> None:
        pass

    @asynccontextmanager
    async def filler(self, url: str) -> AsyncIterator[EnqueueMany]:
        noop = _actor(_broker(url), lambda _: None)

        async def enqueue_many(arguments: list[Arguments]) -> None:
            for each in arguments:
                noop.send(**each)

        yield enqueue_many

    @asynccontextmanager
    async def worker(self, url: str, handle: Handle) -> AsyncIterator[Run]:
        broker = _broker(url)
        _actor(broker, handle)

        async def run() -> None:
            dramatiq.Worker(broker, worker_threads=THREADS, worker_timeout=POLL_MS).start()
            await asyncio.Event().wait()

        yield run

    @asynccontextmanager
    async def enqueuer(self, url: str) -> AsyncIterator[Enqueue]:
        noop = _actor(_broker(url), lambda _: None)

        async def enqueue(n: int) -> None:
            noop.send(n=n)

        yield enqueue


def _broker(url: str) -> RedisBroker:
    broker = RedisBroker(url=url, middleware=[Retries()])
    dramatiq.set_broker(broker)
    return broker


def _actor(broker: RedisBroker, handle: Handle) -> "dramatiq.Actor[..., None]":
    def noop(n: int, document: Document | None = None) -> None:
        del document
        handle(n)

    return dramatiq.actor(noop, actor_name="noop", broker=broker)


if __name__ == "__main__":
    main(DramatiqPeer())
