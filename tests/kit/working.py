"""A worker for as long as a block lasts."""

import asyncio
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import Any

from penstock import Penstock
from penstock.worker import Worker


@asynccontextmanager
async def working(app: Penstock, queues: Mapping[str, int] | None = None, **options: Any) -> AsyncIterator[Worker]:
    """Starts a worker, waits until it is ready, and stops it in the end."""
    worker = app.worker(queues, **options)
    running = asyncio.create_task(worker.run())
    ready = asyncio.create_task(worker.ready.wait())
    await asyncio.wait([running, ready], return_when=asyncio.FIRST_COMPLETED)
    if running.done():
        ready.cancel()
        await running
    try:
        yield worker
    finally:
        worker.stop()
        await running
