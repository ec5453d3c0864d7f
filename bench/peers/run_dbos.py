"""DBOS: a workflow without steps on a queue without limits, polled every 10 ms where it would be every second (a queue
has no notifications), with a connection for each of 20 threads. Jobs are enqueued by its client; it has no call for
many. Every workflow is kept with its inputs and its result."""

import asyncio
import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from dbos import DBOS, DBOSClient, EnqueueOptions

from bench.payload import Document
from bench.peers.protocol import Arguments, Enqueue, EnqueueMany, Handle, Peer, Run, main

POLL = 0.01
POOL = 20
OPTIONS: EnqueueOptions = {"queue_name": "bench", "workflow_name": "noop"}

_handle: Handle


@DBOS.workflow(name="noop")  # type: ignore[untyped-decorator]
async def noop(n: int, document: Document | None = None) -> None:
    del document
    _handle(n)


class DbosPeer(Peer):
    blocks = True

    async def prepare(self, url: str) -> None:
        await asyncio.to_thread(_launch, url)
        DBOS.destroy()

    @asynccontextmanager
    async def filler(self, url: str) -> AsyncIterator[EnqueueMany]:
        client = DBOSClient(system_database_url=url)

        async def enqueue_many(arguments: list[Arguments]) -> None:
            for each in arguments:
                client.enqueue(OPTIONS, *each.values())

        yield enqueue_many

    @asynccontextmanager
    async def worker(self, url: str, handle: Handle) -> AsyncIterator[Run]:
        global _handle
        _handle = handle

        async def run() -> None:
            await asyncio.to_thread(_launch, url)
            await asyncio.Event().wait()

        yield run

    @asynccontextmanager
    async def enqueuer(self, url: str) -> AsyncIterator[Enqueue]:
        client = DBOSClient(system_database_url=url)

        async def enqueue(n: int) -> None:
            client.enqueue(OPTIONS, n)

        yield enqueue


def _launch(url: str) -> None:
    DBOS(
        config={
            "name": "bench", "system_database_url": url, "log_level": "ERROR", "run_admin_server": False,
            "sys_db_pool_size": POOL, "executor_id": str(os.getpid()), "application_version": "1",
        }
    )  # fmt: skip
    DBOS.launch()
    DBOS.register_queue("bench", polling_interval_sec=POLL)


if __name__ == "__main__":
    main(DbosPeer())
