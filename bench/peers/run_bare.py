"""The ceiling of bench/bare.py, as a worker process: claims and completes 500 at a time, with no handler to call."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import psycopg

from bench import bare
from bench.peers.protocol import Arguments, EnqueueMany, Handle, Run, main
from bench.peers.run_penstock import PenstockPeer

BATCH = 500


class BarePeer(PenstockPeer):
    async def prepare(self, url: str) -> None:
        await super().prepare(url)
        async with await psycopg.AsyncConnection.connect(url, autocommit=True) as connection:
            await connection.execute(bare.TABLES)

    @asynccontextmanager
    async def filler(self, url: str) -> AsyncIterator[EnqueueMany]:
        async with await psycopg.AsyncConnection.connect(url, autocommit=True) as connection:

            async def enqueue_many(arguments: list[Arguments]) -> None:
                await bare.fill(connection, arguments)

            yield enqueue_many

    @asynccontextmanager
    async def worker(self, url: str, handle: Handle) -> AsyncIterator[Run]:
        async with await psycopg.AsyncConnection.connect(url, autocommit=True) as connection:

            async def run() -> None:
                for n in range(await bare.drain(connection, BATCH)):
                    handle(n)

            yield run


if __name__ == "__main__":
    main(BarePeer())
