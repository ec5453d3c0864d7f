"""Our worker on BullMQ's queues beside the worker of BullMQ's own Python package, on the same Valkey, in turns.

Each takes as many jobs as the other, with as many at once, and a handler that does nothing; what is measured is the
time from the worker's start until the last job has ended. The jobs are each side's own: as its `enqueue_many` or
`addBulk` writes them.
"""

import asyncio
import statistics
import time
from itertools import count
from typing import Any

from bullmq import Queue as TheirQueue
from bullmq import Worker as TheirWorker

from bench import valkey
from penstock import Penstock

AT_ONCE = 50
_numbers = count(1)


async def ours(port: int, jobs: int) -> float:
    """Jobs a second."""
    ended = asyncio.Event()
    done = 0
    async with Penstock(f"redis://127.0.0.1:{port}?prefix=o{next(_numbers)}") as app:

        @app.job
        async def nothing(n: int) -> None:  # noqa: ARG001
            nonlocal done
            done += 1
            if done == jobs:
                ended.set()

        handles = await nothing.aenqueue_many([{"n": n} for n in range(jobs)])
        worker = app.worker({"default": AT_ONCE})
        began = time.perf_counter()
        running = asyncio.create_task(worker.run())
        await ended.wait()
        # the last one's report is under way
        await handles[-1].aresult(timeout=30)
        seconds = time.perf_counter() - began
        worker.stop()
        await running
    return jobs / seconds


async def theirs(port: int, jobs: int) -> float:
    ended = asyncio.Event()
    done = 0

    async def nothing(_: Any, __: str) -> None:
        return None

    def note(*_: object) -> None:
        nonlocal done
        done += 1
        if done == jobs:
            ended.set()

    place: dict[str, Any] = {"connection": f"redis://127.0.0.1:{port}", "prefix": f"t{next(_numbers)}"}
    queue = TheirQueue("default", place)
    for start in range(0, jobs, 1000):
        await queue.addBulk(
            [{"name": "nothing", "data": {"n": n}, "opts": {}} for n in range(start, min(start + 1000, jobs))]
        )
    worker = TheirWorker("default", nothing, {**place, "concurrency": AT_ONCE, "autorun": False})
    worker.on("completed", note)
    began = time.perf_counter()
    running = asyncio.create_task(worker.run())
    await ended.wait()
    seconds = time.perf_counter() - began
    await worker.close()
    running.cancel()
    await asyncio.wait([running])
    await queue.close()
    return jobs / seconds


def measured(rounds: int, jobs: int) -> dict[str, object]:
    """In turns, so that whatever else the machine does meets both; the middle of each."""
    our, their = [], []
    with valkey.started() as server:
        for _ in range(rounds):
            their.append(asyncio.run(theirs(server.port, jobs)))
            our.append(asyncio.run(ours(server.port, jobs)))
    return {
        "bullmq_ours_per_second": round(statistics.median(our)),
        "bullmq_theirs_per_second": round(statistics.median(their)),
        "bullmq_ratio": round(statistics.median(our) / statistics.median(their), 2),
    }
