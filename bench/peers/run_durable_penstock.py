"""Runner of `make bench-durable`: Penstock."""

import asyncio
import time

from bench.peers.durable import CHILDREN, STEPS, Sizes, median_ms, run
from penstock import Context, Penstock


async def one() -> int:
    return 1


async def measure(url: str, sizes: Sizes) -> dict[str, float]:
    seen: dict[int, float] = {}
    begun = asyncio.Event()
    async with Penstock(url) as app:

        @app.job
        async def ten_steps(ctx: Context) -> int:
            return sum([await ctx.step(f"step {number}", one) for number in range(STEPS)])

        @app.job
        async def child(n: int) -> int:
            return n

        @app.job
        async def parent(ctx: Context) -> int:
            return sum(await ctx.gather(*(child.prepare(n) for n in range(CHILDREN))))

        @app.job
        async def wait(ctx: Context, n: int) -> None:
            begun.set()
            await ctx.wait_for("go", key=str(n))
            seen[n] = time.perf_counter()

        await asyncio.to_thread(app.migrate)
        worker = app.worker({"default": 100})
        task = asyncio.create_task(worker.run())
        try:
            began = time.perf_counter()
            for handle in await ten_steps.aenqueue_many({} for _ in range(sizes.workflows)):
                await handle.aresult(600)
            steps = sizes.workflows * STEPS / (time.perf_counter() - began)
            began = time.perf_counter()
            for handle in await parent.aenqueue_many({} for _ in range(sizes.parents)):
                await handle.aresult(600)
            fanout = sizes.parents * CHILDREN / (time.perf_counter() - began)
            took: list[float] = []
            for n in range(sizes.events):
                begun.clear()
                waiter = await wait.aenqueue(n)
                await begun.wait()
                await asyncio.sleep(0.1)  # until it has said that it waits
                sent = time.perf_counter()
                await app.aemit("go", key=str(n))
                await waiter.aresult(60)
                took.append(seen[n] - sent)
        finally:
            worker.stop()
            await task
    return {"steps": steps, "fanout": fanout, "event_ms": median_ms(took)}


run(measure)
