"""The ceiling of bench/bare.py, as a worker process: claims and completes 500 at a time, with no handler to call."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import psycopg

from bench import bare
from bench.peers.protocol import Handle, Run, main
from bench.peers.run_penstock import PenstockPeer

BATCH = 500


class BarePeer(PenstockPeer):
    async def prepare(self, url: str) -> None:
        await super().prepare(url)
        async with await psycopg.AsyncConnection.connect(url, autocommit=True) as connection:
            await connection.execute(bare.TABLES)

    async def fill(self, url: str, jobs: int) -> None:
        await super().fill(url, jobs)
        async with await psycopg.AsyncConnection.connect(url, autocommit=True) as connection:
            await connection.execute("insert into bare_jobs select * from penstock.jobs")
            await connection.execute("truncate penstock.jobs")

    @asynccontextmanager
    async def worker(self, url: str, handle: Handle) -> AsyncIterator[Run]:
        async with await psycopg.AsyncConnection.connect(url, autocommit=True) as connection:

            async def run() -> None:
                for n in range(await bare.drain(connection, BATCH)):
                    handle(n)

            yield run


if __name__ == "__main__":
    main(BarePeer())
