"""Runner of `make bench-durable`: DBOS. It has no call for many workflows: they are started at once."""

import asyncio
import time

from dbos import DBOS

from bench.peers.durable import CHILDREN, STEPS, Sizes, median_ms, run

seen: dict[int, float] = {}
begun = asyncio.Event()


@DBOS.step()  # type: ignore[untyped-decorator]
async def one() -> int:
    return 1


@DBOS.workflow()  # type: ignore[untyped-decorator]
async def ten_steps() -> int:
    return sum([await one() for _ in range(STEPS)])


@DBOS.workflow()  # type: ignore[untyped-decorator]
async def child(n: int) -> int:
    return n


@DBOS.workflow()  # type: ignore[untyped-decorator]
async def parent() -> int:
    handles = await asyncio.gather(*(DBOS.start_workflow_async(child, n) for n in range(CHILDREN)))
    return sum([await each.get_result() for each in handles])


@DBOS.workflow()  # type: ignore[untyped-decorator]
async def wait(n: int) -> None:
    begun.set()
    await DBOS.recv_async("go", 60)
    seen[n] = time.perf_counter()


async def measure(url: str, sizes: Sizes) -> dict[str, float]:
    DBOS(config={"name": "bench", "system_database_url": url, "log_level": "ERROR", "run_admin_server": False})
    DBOS.launch()
    began = time.perf_counter()
    handles = await asyncio.gather(*(DBOS.start_workflow_async(ten_steps) for _ in range(sizes.workflows)))
    for each in handles:
        await each.get_result()
    steps = sizes.workflows * STEPS / (time.perf_counter() - began)
    began = time.perf_counter()
    handles = await asyncio.gather(*(DBOS.start_workflow_async(parent) for _ in range(sizes.parents)))
    for each in handles:
        await each.get_result()
    fanout = sizes.parents * CHILDREN / (time.perf_counter() - began)
    took: list[float] = []
    for n in range(sizes.events):
        begun.clear()
        handle = await DBOS.start_workflow_async(wait, n)
        await begun.wait()
        await asyncio.sleep(0.1)  # until it has said that it waits
        sent = time.perf_counter()
        await DBOS.send_async(handle.workflow_id, None, "go")
        await handle.get_result()
        took.append(seen[n] - sent)
    DBOS.destroy()
    return {"steps": steps, "fanout": fanout, "event_ms": median_ms(took)}


run(measure)
