"""pgqueuer as its guide to tuning has it: autovacuum by its own settings, large batches for short jobs, durable tables.

asyncpg, which its authors measure at 1.7 times the rate of psycopg. A pool for drains, as that guide says for high
throughput (it stores finished jobs while it claims the next: 7 of 9 drains were faster); one connection for jobs that
come singly, as its checklist has it for a manager (4 of 5 p50s were lower). Batches of 500, because 100, 1,000 and
2,000 were not steadily better, nor were two managers in one process.
"""

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import asyncpg
import uvloop
from pgqueuer import PgQueuer
from pgqueuer.db import AsyncpgDriver, AsyncpgPoolDriver, Driver
from pgqueuer.models import Job
from pgqueuer.queries import Queries

from bench.peers.protocol import Arguments, Enqueue, EnqueueMany, Handle, Peer, Run, main

BATCH = 500
POOL = 4


class PgqueuerPeer(Peer):
    async def prepare(self, url: str) -> None:
        async with _queries(url) as queries:
            await queries.install()
            await queries.optimize_autovacuum()

    @asynccontextmanager
    async def filler(self, url: str) -> AsyncIterator[EnqueueMany]:
        async with _queries(url) as queries:

            async def enqueue_many(arguments: list[Arguments]) -> None:
                if "document" in arguments[0]:
                    kind, payloads = "read", [json.dumps(each).encode() for each in arguments]
                else:
                    kind, payloads = "noop", [b"%d" % each["n"] for each in arguments]
                await queries.enqueue([kind] * len(payloads), payloads, [0] * len(payloads))

            yield enqueue_many

    @asynccontextmanager
    async def worker(self, url: str, handle: Handle) -> AsyncIterator[Run]:
        async with asyncpg.create_pool(url, min_size=POOL, max_size=POOL) as pool:
            yield _manager(AsyncpgPoolDriver(pool), handle)

    @asynccontextmanager
    async def waiter(self, url: str, handle: Handle) -> AsyncIterator[Run]:
        yield _manager(AsyncpgDriver(await asyncpg.connect(url)), handle)

    @asynccontextmanager
    async def enqueuer(self, url: str) -> AsyncIterator[Enqueue]:
        async with _queries(url) as queries:
            yield lambda n: queries.enqueue("noop", b"%d" % n)


def _manager(driver: Driver, handle: Handle) -> Run:
    async def noop(job: Job) -> None:
        handle(int(job.payload))

    async def read(job: Job) -> None:
        # the others hand their arguments over decoded, so this one has to as well
        handle(json.loads(job.payload)["n"])

    pgqueuer = PgQueuer(driver)
    pgqueuer.entrypoint("noop")(noop)
    pgqueuer.entrypoint("read")(read)
    return lambda: pgqueuer.run(batch_size=BATCH)


@asynccontextmanager
async def _queries(url: str) -> AsyncIterator[Queries]:
    connection = await asyncpg.connect(url)
    try:
        yield Queries(AsyncpgDriver(connection))
    finally:
        await connection.close()


if __name__ == "__main__":
    main(PgqueuerPeer(), uvloop.new_event_loop)
