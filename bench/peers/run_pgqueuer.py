"""pgqueuer at the best settings found, on a busy machine: worth another look on a quiet one.

asyncpg, for psycopg drained at 0.4 to 0.7 of its rate. A pool, to store finished jobs while it claims the next: 7 of 9
drains were faster than on a single connection, but 4 of 5 p50s of single jobs were slower, so those get a connection.
Batches of 100, 1,000 and 2,000, and two managers in one process, were not steadily better than batches of 500.
"""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import asyncpg
import uvloop
from pgqueuer import PgQueuer
from pgqueuer.db import AsyncpgDriver, AsyncpgPoolDriver, Driver
from pgqueuer.models import Job
from pgqueuer.queries import Queries

from bench.peers.protocol import Enqueue, Handle, Peer, Run, main

BATCH = 500
POOL = 4


class PgqueuerPeer(Peer):
    async def prepare(self, url: str) -> None:
        async with _queries(url) as queries:
            await queries.install()
            await queries.optimize_autovacuum()

    async def fill(self, url: str, jobs: int) -> None:
        async with _queries(url) as queries:
            for start in range(0, jobs, 10_000):
                numbers = range(start, min(start + 10_000, jobs))
                await queries.enqueue(["noop"] * len(numbers), [b"%d" % n for n in numbers], [0] * len(numbers))

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

    pgqueuer = PgQueuer(driver)
    pgqueuer.entrypoint("noop")(noop)
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
