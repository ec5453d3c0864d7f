"""absurd by its SDK for asyncio: 100 tasks at once, claimed as many at a time, polled every 20 ms where it would be 250
(it has no notifications). Bulk is its SQL function `spawn_task` over many rows in one statement: the SDK spawns singly.
Tasks, runs and results stay until they are cleaned up."""

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import absurdctl
import psycopg
import uvloop
from absurd_sdk import AsyncAbsurd

from bench.peers.protocol import Arguments, Enqueue, EnqueueMany, Handle, Peer, Run, main

AT_ONCE = 100
POLL = 0.02
MANY = "select count(*) from unnest(%s::jsonb[]) as each, lateral absurd.spawn_task('default', 'noop', each)"


class AbsurdPeer(Peer):
    async def prepare(self, url: str) -> None:
        with psycopg.connect(url, autocommit=True) as connection:
            connection.execute(absurdctl.BUNDLED_SCHEMA_SQL.encode())
        await AsyncAbsurd(url).create_queue("default")

    @asynccontextmanager
    async def filler(self, url: str) -> AsyncIterator[EnqueueMany]:
        async with await psycopg.AsyncConnection.connect(url, autocommit=True) as connection:

            async def enqueue_many(arguments: list[Arguments]) -> None:
                await connection.execute(MANY, ([json.dumps(each) for each in arguments],))

            yield enqueue_many

    @asynccontextmanager
    async def worker(self, url: str, handle: Handle) -> AsyncIterator[Run]:
        async def noop(params: Any, _: Any) -> None:
            handle(params["n"])

        app = AsyncAbsurd(url)
        app.register_task("noop")(noop)
        yield lambda: app.start_worker(concurrency=AT_ONCE, poll_interval=POLL)

    @asynccontextmanager
    async def enqueuer(self, url: str) -> AsyncIterator[Enqueue]:
        app = AsyncAbsurd(url)
        yield lambda n: app.spawn("noop", {"n": n}, queue="default")


if __name__ == "__main__":
    main(AbsurdPeer(), uvloop.new_event_loop)
