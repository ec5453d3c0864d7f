"""A worker of a soak: every few seconds it says how many claims it made, what they took, and how large it is.

Usage: soak_worker URL
"""

import asyncio
import json
import sys
import time
from typing import Any

from bench.soak_jobs import GIVEN_UP, PLAIN, QUEUE, RETRIED, SNOOZED
from penstock import Context, Penstock, Snooze
from penstock.engine import commands

SLOTS = 200
EVERY = 5.0


def application(url: str) -> Penstock:
    app = Penstock(url)

    @app.job(kind=PLAIN, queue=QUEUE)
    async def plain(n: int, document: Any) -> None: ...

    @app.job(kind=RETRIED, queue=QUEUE)
    async def retried(ctx: Context, n: int, document: Any) -> None:
        del document
        if ctx.attempt == 1:
            raise RuntimeError(f"job {n} fails once")

    @app.job(kind=GIVEN_UP, queue=QUEUE)
    async def given_up(n: int, document: Any) -> None:
        del document
        raise RuntimeError(f"job {n} always fails")

    @app.job(kind=SNOOZED, queue=QUEUE)
    async def snoozed(ctx: Context, n: int, document: Any) -> Snooze | None:
        del n, document
        return Snooze(0.2) if ctx.job.snoozes == 0 else None

    return app


async def main(url: str) -> None:
    async with application(url) as app:
        worker = app.worker({QUEUE: SLOTS})
        took: list[float] = []
        run = worker.engine.arun

        async def timed(command: commands.Command[Any]) -> Any:
            if not isinstance(command, commands.Claim):
                return await run(command)
            began = time.perf_counter()
            claimed = await run(command)
            if claimed:
                took.append((time.perf_counter() - began) * 1000)
            return claimed

        worker.engine.arun = timed  # type: ignore[method-assign]
        running = asyncio.create_task(worker.run())
        # whoever started it is gone when this ends
        reader = asyncio.StreamReader()
        loop = asyncio.get_running_loop()
        await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), sys.stdin)
        ended = asyncio.create_task(reader.read())
        while not ended.done() and not running.done():
            await asyncio.wait([ended, running], timeout=EVERY)
            print(json.dumps(took), flush=True)
            took.clear()
        worker.stop()
        await running


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1]))
