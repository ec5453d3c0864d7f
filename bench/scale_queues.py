"""Many queues beside one: claims, enqueues, what Prometheus and the dashboard ask, and a worker on all of them."""

import asyncio
import random
import statistics
import time
from dataclasses import dataclass, fields

from bench.goals import Goal
from bench.sides import Side, Sides
from penstock.job import NewJob
from penstock.server.http.traffic import Traffic
from penstock.server.metrics import SCRAPED, Scraped, exposition

JOBS = 10_000
"""In all queues together."""
AT_ONCE = 100
SAMPLES = 20
SLOTS = 10
"""Of the worker, for each queue."""
PAUSE = 0.05
GOALS = (
    Goal("queues_claim_ratio", f"claim of {AT_ONCE} from one of the queues", at_most=1.5),
    Goal("queues_enqueue_ratio", "a single enqueue", at_most=1.5),
    Goal("queues_tend_ms", "what the leader does every second, in ms", at_most=20.0, form=".1f"),
    Goal("queues_overview_ms", "overview of all queues, in ms", at_most=100.0, form=".1f"),
    Goal("queues_metrics_ms", "all of /metrics, in ms", at_most=250.0, form=".1f"),
    Goal("queues_idle_ratio", "from enqueue to start on a worker for all of them, p50", at_most=2.0),
    Goal("queues_woken_ms", f"the same, {SLOTS} at once, in ms", at_most=200.0, form=".1f"),
    Goal("queues_woken_cpu_ms", "Postgres's CPU for that, in ms", at_most=100.0, form=".1f"),
    Goal("queues_drain_ratio", f"{JOBS:,} jobs drained by a worker for all of them", at_most=5.0),
)


def name(n: int) -> str:
    return f"queue {n}"


def fill(side: Side, jobs: int) -> None:
    side.app.engine.enqueue([NewJob(kind="noop", queue=name(n % side.size)) for n in range(jobs)])


def claim(side: Side) -> float:
    """Enough for a claim in one queue; what it left is finished."""
    queue = name(random.randrange(side.size))
    side.app.engine.enqueue([NewJob(kind="noop", queue=queue) for _ in range(AT_ONCE)])
    took = side.cost("select id from penstock.claim(%s, %s, %s)", side.lease, queue, AT_ONCE)
    side.run("with done as (delete from penstock.jobs where lease = %s returning id) select from done", side.lease)
    return took


def enqueue(side: Side) -> float:
    return side.cost("select penstock.enqueue_plain(penstock.uuid7(), 'noop', p_queue => %s)", name(side.size - 1))


def tend(side: Side) -> float:
    return side.cost("select * from penstock.tend(%s)", side.lease)


async def scrape(side: Side) -> float:
    """Our part and Postgres's of what Prometheus asks for."""
    before, began = side.server_cpu(), time.process_time()
    exposition(Scraped(*[await side.app.engine.arun(each) for each in SCRAPED]), [], Traffic(), 0)
    return (time.process_time() - began + side.server_cpu() - before) * 1000


@dataclass(frozen=True)
class Worked:
    """Of a worker for all queues: seconds to drain them, medians of milliseconds until jobs start that come when it has
    nothing to do, one by one and ten at a time, and Postgres's CPU of the latter."""

    drain: float
    idle: float
    woken: float
    woken_cpu: float


async def work(side: Side, jobs: int) -> Worked:
    started: asyncio.Queue[float] = asyncio.Queue()

    async def noop() -> None:
        started.put_nowait(time.perf_counter())

    handler = side.app.job(noop)
    side.run("with gone as (delete from penstock.jobs returning id) select from gone")
    fill(side, jobs)
    began = time.perf_counter()
    worker = side.app.worker({name(n): SLOTS for n in range(side.size)})
    running = asyncio.create_task(worker.run())

    async def all_started(jobs: int) -> float:
        return [await started.get() for _ in range(jobs)][-1]

    async def wait_for(jobs: int) -> float:
        """Milliseconds until so many have started that are enqueued at once."""
        queue = name(random.randrange(side.size))
        chosen = handler.using(queue=queue)
        sent = time.perf_counter()
        await (chosen.aenqueue() if jobs == 1 else chosen.aenqueue_many([{}] * jobs))
        took = (await all_started(jobs) - sent) * 1000
        await asyncio.sleep(PAUSE)
        return took

    try:
        drained = await all_started(jobs) - began
        # until every queue has said that it waits
        while side.run("select count(*) from penstock.waiting")[0][0] < side.size:  # noqa: ASYNC110 - nobody tells
            await asyncio.sleep(0.05)
        idle = statistics.median([await wait_for(1) for _ in range(SAMPLES)])
        before = side.server_cpu()
        woken = statistics.median([await wait_for(SLOTS) for _ in range(SAMPLES)])
        cpu = (side.server_cpu() - before) / SAMPLES * 1000
    finally:
        worker.stop()
        await running
    return Worked(drained, idle, woken, cpu)


async def measure(both: Sides) -> dict[str, dict[str, float]]:
    for side in (both.small, both.large):
        fill(side, JOBS)
        side.connection.execute("vacuum analyze")
    found = {"claim": both.compare(claim), "enqueue": both.compare(enqueue)}
    found["overview"] = both.compare(lambda side: side.cost("select * from penstock.queue_overview()"))
    found["metrics"] = await both.acompare(scrape)
    few, many = await work(both.small, JOBS), await work(both.large, JOBS)
    # when every queue has been claimed from
    found["tend"] = both.compare(tend)
    for field in fields(Worked):
        small, large = getattr(few, field.name), getattr(many, field.name)
        found[field.name] = {"small": small, "large": large, "ratio": large / small}
    return found
