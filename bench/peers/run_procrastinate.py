"""procrastinate with 100 jobs at once, because each is fetched by a statement of its own and what waits for one should
not hold up the others (10 and 30 drained alike); finished jobs are deleted (`delete_jobs`), which is less to write; its
notifications are on, a pool of 10 connections commits each statement by itself. Bulk is `batch_defer`."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import procrastinate
import psycopg
import psycopg_pool
import uvloop

from bench.payload import Document
from bench.peers.protocol import Arguments, Enqueue, EnqueueMany, Handle, Peer, Run, main

CONCURRENCY = 100
POOL = 10
BATCH = 1000
"""Jobs in a call that enqueues."""


class ProcrastinatePeer(Peer):
    async def prepare(self, url: str) -> None:
        async with _opened(url) as app:
            await app.schema_manager.apply_schema_async()

    @asynccontextmanager
    async def filler(self, url: str) -> AsyncIterator[EnqueueMany]:
        async with _opened(url) as app:
            deferrer = app.configure_task("noop")

            async def enqueue_many(arguments: list[Arguments]) -> None:
                for start in range(0, len(arguments), BATCH):
                    await deferrer.batch_defer_async(*arguments[start : start + BATCH])

            yield enqueue_many

    @asynccontextmanager
    async def worker(self, url: str, handle: Handle) -> AsyncIterator[Run]:
        async def noop(n: int, document: Document | None = None) -> None:
            del document
            handle(n)

        async with _opened(url) as app:
            app.task(name="noop")(noop)
            yield lambda: app.run_worker_async(
                concurrency=CONCURRENCY, delete_jobs="successful", install_signal_handlers=False
            )

    @asynccontextmanager
    async def enqueuer(self, url: str) -> AsyncIterator[Enqueue]:
        async with _opened(url) as app:
            deferrer = app.configure_task("noop")
            yield lambda n: deferrer.defer_async(n=n)


@asynccontextmanager
async def _opened(url: str) -> AsyncIterator[procrastinate.App]:
    app = procrastinate.App(connector=procrastinate.PsycopgConnector())
    # a pool of our own: the one it would make asks the server whether a connection lives before every use of it,
    # and opens and commits a transaction around every statement
    pool = psycopg_pool.AsyncConnectionPool(url, min_size=POOL, max_size=POOL, open=False, configure=_autocommit)
    async with pool:
        await pool.wait()
        async with app.open_async(pool):
            yield app


async def _autocommit(connection: psycopg.AsyncConnection[Any]) -> None:
    await connection.set_autocommit(True)


if __name__ == "__main__":
    main(ProcrastinatePeer(), uvloop.new_event_loop)
