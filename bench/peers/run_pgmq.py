"""pgmq's SQL and nothing around it: a connection reads 1,000 messages, counts them and archives them by one call, in a
loop, as many as our own worker reports at once, which claims up to 2,000. 500 took half as much time again, 2,000 as
much as 1,000. No handlers, attempts or results, and no worker to be had. Bulk is `send_batch`; who waits for single
messages listens (`enable_notify_insert`, without throttling)."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import psycopg
from pgmq import get_embedded_install_sql
from psycopg.types.json import Jsonb

from bench.peers.protocol import Arguments, Enqueue, EnqueueMany, Handle, Peer, Run, main

BATCH = 1_000
HIDDEN = 60
READ = "select msg_id, message from pgmq.read('bench', %s, %s)"
ARCHIVE = "select pgmq.archive('bench', %s::bigint[])"


class PgmqPeer(Peer):
    async def prepare(self, url: str) -> None:
        async with _connected(url) as connection:
            await connection.execute(get_embedded_install_sql().encode())
            await connection.execute("select pgmq.create('bench')")

    @asynccontextmanager
    async def filler(self, url: str) -> AsyncIterator[EnqueueMany]:
        async with _connected(url) as connection:
            # an idle round before left it on: with a notification for each, a message took 610 µs of CPU
            await connection.execute("select pgmq.disable_notify_insert('bench')")

            async def enqueue_many(arguments: list[Arguments]) -> None:
                await connection.execute(
                    "select from pgmq.send_batch('bench', %s)", ([Jsonb(each) for each in arguments],)
                )

            yield enqueue_many

    @asynccontextmanager
    async def worker(self, url: str, handle: Handle) -> AsyncIterator[Run]:
        async with _connected(url) as connection:
            await connection.execute("select pgmq.disable_notify_insert('bench')")

            async def run() -> None:
                while True:
                    if not await _take(connection, handle):
                        await connection.execute("select pg_sleep(0.01)")

            yield run

    @asynccontextmanager
    async def waiter(self, url: str, handle: Handle) -> AsyncIterator[Run]:
        async with _connected(url) as connection, _connected(url) as listener:
            await connection.execute("select pgmq.enable_notify_insert('bench', 0)")
            await listener.execute('listen "pgmq.q_bench.INSERT"')

            async def run() -> None:
                await _take(connection, handle)
                async for _ in listener.notifies():
                    await _take(connection, handle)

            yield run

    @asynccontextmanager
    async def enqueuer(self, url: str) -> AsyncIterator[Enqueue]:
        async with _connected(url) as connection:
            yield lambda n: connection.execute("select from pgmq.send('bench', %s)", (Jsonb({"n": n}),))


async def _take(connection: psycopg.AsyncConnection[Any], handle: Handle) -> bool:
    """Whether there was any."""
    cursor = await connection.execute(READ, (HIDDEN, BATCH))
    messages = await cursor.fetchall()
    for _, message in messages:
        handle(message["n"])
    if messages:
        await connection.execute(ARCHIVE, ([number for number, _ in messages],))
    return bool(messages)


@asynccontextmanager
async def _connected(url: str) -> AsyncIterator[psycopg.AsyncConnection[Any]]:
    async with await psycopg.AsyncConnection.connect(url, autocommit=True) as connection:
        yield connection


if __name__ == "__main__":
    main(PgmqPeer())
