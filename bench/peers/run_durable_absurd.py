"""Runner of `make bench-durable`: Absurd. Its workers poll; here as often as it can be told to without looking all the
time. It has no call for many tasks: they are spawned at once."""

import asyncio
import time
from typing import Any

import absurdctl
import psycopg
from absurd_sdk import AsyncAbsurd

from bench.peers.durable import CHILDREN, STEPS, Sizes, median_ms, run

POLL = 0.02
AT_ONCE = 100


async def measure(url: str, sizes: Sizes) -> dict[str, float]:
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute(absurdctl.BUNDLED_SCHEMA_SQL.encode())
    seen: dict[int, float] = {}
    begun = asyncio.Event()
    app, below, asks = AsyncAbsurd(url), AsyncAbsurd(url, queue_name="below"), AsyncAbsurd(url)

    async def one() -> int:
        return 1

    async def ten_steps(_: Any, ctx: Any) -> int:
        return sum([await ctx.step(f"step {number}", one) for number in range(STEPS)])

    async def child(params: Any, _: Any) -> int:
        number: int = params["n"]
        return number

    async def parent(_: Any, ctx: Any) -> int:
        async def start() -> list[str]:
            spawned = await asyncio.gather(*(below.spawn("child", {"n": n}, queue="below") for n in range(CHILDREN)))
            return [each["task_id"] for each in spawned]

        results = [await ctx.await_task_result(id, queue_name="below") for id in await ctx.step("start", start)]
        return sum(each.result for each in results)

    async def wait(params: Any, ctx: Any) -> None:
        begun.set()
        await ctx.await_event(f"go {params['n']}")
        seen[params["n"]] = time.perf_counter()

    for task in (ten_steps, parent, wait):
        app.register_task(task.__name__)(task)
    below.register_task("child", queue="below")(child)
    # each connects at its first call, and would once for each of many at once
    for each in (app, below, asks):
        await each.create_queue("default")
    await below.create_queue("below")
    workers = [asyncio.create_task(each.start_worker(concurrency=AT_ONCE, poll_interval=POLL)) for each in (app, below)]

    async def run_all(task: str, count: int) -> None:
        spawned = await asyncio.gather(*(asks.spawn(task, {}, queue="default") for _ in range(count)))
        for each in spawned:
            await asks.await_task_result(each["task_id"], timeout=600)

    began = time.perf_counter()
    await run_all("ten_steps", sizes.workflows)
    steps = sizes.workflows * STEPS / (time.perf_counter() - began)
    began = time.perf_counter()
    await run_all("parent", sizes.parents)
    fanout = sizes.parents * CHILDREN / (time.perf_counter() - began)
    took: list[float] = []
    for n in range(sizes.events):
        begun.clear()
        spawned = await asks.spawn("wait", {"n": n}, queue="default")
        await begun.wait()
        await asyncio.sleep(0.1)  # until it has said that it waits
        sent = time.perf_counter()
        await asks.emit_event(f"go {n}")
        await asks.await_task_result(spawned["task_id"], timeout=600)
        took.append(seen[n] - sent)
    for worker in workers:
        worker.cancel()
    return {"steps": steps, "fanout": fanout, "event_ms": median_ms(took)}


run(measure)
