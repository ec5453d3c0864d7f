"""The work that `make bench` gives every system, and how much of it."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

from bench import payload
from bench.figures import percentile
from bench.measuring import Drained, Server
from bench.systems import System

Figures = dict[str, Any]
"""What one measurement found, by name; or `failed`, and why."""

PRODUCERS = 16
FIRST, MOST = 500, 50_000
"""Jobs of the drains that tell how fast a system is, and so how many it is measured with."""
SINGLY = 200
BYTES = 100_000_000
"""Of documents in a drain at most."""
LONGEST_WAIT = 5.0
"""Seconds of asking for latencies, but for the slowest."""


@dataclass(frozen=True)
class Pace:
    """How fast a system was when it warmed up, in jobs a second."""

    drain: float
    singly: float


@dataclass(frozen=True)
class Amount:
    """How much of it: seconds of each measurement, or exactly so many jobs."""

    seconds: float
    samples: int
    exactly: int | None = None

    def jobs(self, rate: float, size: int = 0) -> int:
        if self.exactly:
            return self.exactly
        most = BYTES // size if size else 1_000_000
        return max(FIRST // 2, min(most, int(rate * self.seconds)))


Measure = Callable[[Server, System, Pace, Amount], Awaitable[Figures]]


@dataclass(frozen=True)
class Work:
    name: str
    label: str
    measure: Measure
    quick: bool = False
    """Done by `--quick` too."""
    on_postgres: bool = False
    """Means nothing elsewhere."""

    def counts(self, *, quick: bool) -> bool:
        return self.quick or not quick

    def is_for(self, system: System) -> bool:
        return system.store == "Postgres" or not self.on_postgres


async def pace(server: Server, system: System, amount: Amount) -> Pace:
    """Warms it up, and tells how fast it is: nobody asks where the number of jobs is given."""
    if amount.exactly:
        return Pace(0, 0)
    if amount.seconds < 1:
        # nor is there time to find out more
        return Pace((await server.drain(system, SINGLY)).rate, SINGLY)
    jobs = FIRST
    drained = await server.drain(system, jobs)
    while drained.seconds < 0.4 and jobs < MOST:
        jobs *= 10
        drained = await server.drain(system, jobs)
    return Pace(drained.rate, await server.enqueue_rate(system, SINGLY))


async def _drain(
    server: Server, system: System, pace: Pace, amount: Amount, *, processes: int = 1, size: int = 0, held: bool = False
) -> Figures:
    jobs = amount.jobs(pace.drain, size)
    return _figures(await server.drain(system, jobs, processes, size, held=held))


def _figures(drained: Drained) -> Figures:
    def each(total: float | None, scale: float = 1.0) -> float | None:
        return None if total is None else total / drained.jobs * scale

    return {
        "jobs": drained.jobs,
        "seconds": drained.seconds,
        "rate": drained.rate,
        "bulk_rate": drained.jobs / drained.enqueue_seconds,
        "worker_us": each(drained.worker_cpu, 1e6),
        "server_us": each(drained.after.cpu, 1e6),
        "server_enqueue_us": each(drained.enqueue.cpu, 1e6),
        "wal": each(drained.wal),
        "wal_enqueue": each(drained.enqueue.wal),
    }


async def _one_by_one(server: Server, system: System, pace: Pace, amount: Amount) -> Figures:
    jobs = amount.jobs(pace.singly)
    return {"jobs": jobs, "rate": await server.enqueue_rate(system, jobs)}


async def _at_once(server: Server, system: System, pace: Pace, amount: Amount) -> Figures:
    jobs = amount.jobs(min(pace.drain, 2 * pace.singly))
    return {"jobs": jobs, "rate": await server.rate_at_once(system, PRODUCERS, jobs)}


async def _idle(server: Server, system: System, pace: Pace, amount: Amount) -> Figures:
    del pace
    latencies = await server.idle_latencies(system, amount.samples, LONGEST_WAIT)
    return {
        "samples": len(latencies),
        "p50_ms": percentile(latencies, "p50"),
        "p99_ms": percentile(latencies, "p99"),
        "latencies_ms": [round(each, 3) for each in latencies],
    }


WORKS = (
    Work("drain", "no-op jobs, one process", _drain, quick=True),
    Work("drain2", "two processes", partial(_drain, processes=2)),
    Work("held", "a snapshot held open", partial(_drain, held=True), on_postgres=True),
    *(
        Work(f"drain{payload.suffix(size)}", f"{payload.label(size)} of arguments", partial(_drain, size=size))
        for size in payload.SIZES
        if size
    ),
    Work("one_by_one", "enqueueing one by one", _one_by_one, quick=True),
    Work("at_once", f"{PRODUCERS} producers and a worker", _at_once),
    Work("idle", "idle latency", _idle, quick=True),
)
