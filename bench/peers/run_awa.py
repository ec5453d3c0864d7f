"""awa with its queue storage: ring tables that are emptied by TRUNCATE, and leases beside them; bulk is its COPY.

By its Python binding, at the best settings found. 500 jobs at once took 64 µs of the worker's and 85 µs of Postgres's
CPU a job, 200 took 70 and 115, 50 took 120 and 260, 1,000 as 500. Claims of 100 or 2,000 were no better than of 500,
nor were two or four claimers.
"""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from urllib.parse import urlsplit

import awa
import uvloop

from bench.payload import Document
from bench.peers.protocol import Arguments, Enqueue, EnqueueMany, Handle, Peer, Run, main

CONCURRENCY = 500
CLAIMED = 500
CONNECTIONS = 10


@dataclass
class Noop:
    n: int
    document: Document | None = None


class AwaPeer(Peer):
    async def prepare(self, url: str) -> None:
        async with _client(url) as client:
            await client.migrate()
            await client.install_queue_storage()

    @asynccontextmanager
    async def filler(self, url: str) -> AsyncIterator[EnqueueMany]:
        async with _client(url) as client:

            async def enqueue_many(arguments: list[Arguments]) -> None:
                await client.enqueue_many_copy([Noop(**each) for each in arguments])

            yield enqueue_many

    @asynccontextmanager
    async def worker(self, url: str, handle: Handle) -> AsyncIterator[Run]:
        async def noop(job: "awa.Job[Noop]") -> None:
            handle(job.args.n)

        queue = {"name": "default", "max_workers": CONCURRENCY, "claim_batch_size": CLAIMED}
        async with _client(url) as client:
            client.task(Noop)(noop)

            async def run() -> None:
                await client.start([queue], poll_interval_ms=50)
                await asyncio.Event().wait()

            yield run

    @asynccontextmanager
    async def enqueuer(self, url: str) -> AsyncIterator[Enqueue]:
        async with _client(url) as client:
            yield lambda n: client.insert(Noop(n))


def _client(url: str) -> awa.AsyncClient:
    # its driver wants a host in its place, also where a socket is named further on
    parts = urlsplit(url)
    if parts.netloc.endswith("@"):
        url = parts._replace(netloc=f"{parts.netloc}localhost").geturl()
    return awa.AsyncClient(url, max_connections=CONNECTIONS)


if __name__ == "__main__":
    main(AwaPeer(), uvloop.new_event_loop)
