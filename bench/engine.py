"""`make bench-engine`: the engine beside the bare SQL that could do the same, in one run on one Postgres.

Prints a table and writes bench/results/engine.json. What counts are the ratios: absolute rates are the machine's.
"""

import argparse
import asyncio
import json
import shutil
import statistics
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import psycopg
from rich.console import Console
from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn
from rich.table import Table
from uuid_utils.compat import uuid7

from bench import bare
from penstock import Handler, Penstock, embedded
from penstock.engine import Cursor
from penstock.job import Lease

BATCH = 500
ROUNDS = 5
HERE = Path(__file__).parent
GOALS = {"ratio": 0.8, "pinned_ratio": 0.9, "copy_per_s": 150_000, "single_ratio": 0.7}


class Bench:
    def __init__(self, app: Penstock, noop: Handler[[int], None], jobs: int) -> None:
        self.app = app
        self.noop = noop
        self.jobs = jobs

    async def fill(self, jobs: int) -> float:
        """Enqueues by COPY through the public API, 10,000 a call; jobs per second.

        From two tasks: Python prepares one call while Postgres writes the other.
        """
        starts = iter(range(0, jobs, 10_000))

        async def enqueue() -> None:
            for start in starts:
                await self.noop.aenqueue_many([{"n": n} for n in range(start, min(start + 10_000, jobs))])

        started = time.perf_counter()
        await asyncio.gather(enqueue(), enqueue())
        return jobs / (time.perf_counter() - started)

    async def empty(self) -> None:
        async with self.connection() as connection:
            await connection.execute("truncate penstock.jobs, penstock.history, penstock.usage_log")
            await connection.execute("checkpoint")

    @asynccontextmanager
    async def connection(self) -> AsyncIterator[psycopg.AsyncConnection[Any]]:
        async with await psycopg.AsyncConnection.connect(self.app.url(), autocommit=True) as connection:
            yield connection

    async def drain(self, lease: Lease, cursor: Cursor, jobs: int) -> float:
        """Claims and completes so many jobs through the hot-path client; seconds."""
        engine = self.app.engine
        started = time.perf_counter()
        done = 0
        while done < jobs:
            claimed = await engine.claim(lease, "default", BATCH, cursor)
            if not claimed and cursor.looked_everywhere:
                raise SystemExit(f"only {done} of {jobs} jobs came")
            if claimed:
                refused = await engine.complete(lease, claimed)
                done += len(claimed) - len(refused)
        return time.perf_counter() - started

    async def bare_rate(self) -> float:
        async with self.connection() as connection:
            await connection.execute(bare.TABLES)
            await self.fill(self.jobs)
            await connection.execute("insert into bare_jobs select * from penstock.jobs")
            await self.empty()
            await connection.execute("analyze bare_jobs")
            started = time.perf_counter()
            done = await bare.drain(connection, BATCH)
            return done / (time.perf_counter() - started)

    async def our_rate(self) -> float:
        await self.fill(self.jobs)
        async with self.connection() as connection:
            await connection.execute("analyze penstock.jobs")
        lease = await self.app.engine.open_lease("bench", seconds=3600)
        rate = self.jobs / await self.drain(lease, Cursor(), self.jobs)
        await self.empty()
        return rate

    async def flow(self, jobs: int, *, pinned: bool) -> list[float]:
        """Drains a continuous flow of jobs in tenths; the rate in each. A backlog of 20,000 is kept all the while."""
        step = jobs // 10
        lease = await self.app.engine.open_lease("bench", seconds=3600)
        cursor = Cursor()
        rates = []
        async with self.connection() as old:
            if pinned:
                # a transaction left open elsewhere: vacuum may remove nothing that it could still see
                await old.execute("begin isolation level repeatable read")
                await old.execute("select count(*) from penstock.jobs")
            await self.fill(20_000)
            for _ in range(10):
                seconds = 0.0
                for _ in range(step // 10_000):
                    await self.fill(10_000)
                    seconds += await self.drain(lease, cursor, 10_000)
                rates.append(step / seconds)
        await self.empty()
        return rates

    async def single_rates(self, jobs: int) -> tuple[float, float]:
        """One INSERT at a time from 16 tasks: bare, then through aenqueue."""
        async with self.connection() as connection:
            await connection.execute(bare.TABLES)
        pool = await self.app.engine.pools.of_this_loop()

        async def insert(n: int) -> None:
            async with pool.connection() as connection:
                await connection.execute(bare.INSERT, (uuid7(), "noop", "default", f'{{"n": {n}}}'))

        async def enqueue(n: int) -> None:
            await self.noop.aenqueue(n)

        return await _by_sixteen(insert, jobs), await _by_sixteen(enqueue, jobs)


async def _by_sixteen(one: Callable[[int], Awaitable[None]], jobs: int) -> float:
    numbers = iter(range(jobs))

    async def worker() -> None:
        for n in numbers:
            await one(n)

    started = time.perf_counter()
    await asyncio.gather(*(worker() for _ in range(16)))
    return jobs / (time.perf_counter() - started)


async def run(app: Penstock, noop: Handler[[int], None], jobs: int, flow: int, progress: Progress) -> dict[str, Any]:
    bench = Bench(app, noop, jobs)
    task = progress.add_task("warming up")
    await bench.fill(20_000)
    await bench.drain(await app.engine.open_lease("warm-up"), Cursor(), 20_000)
    await bench.empty()

    copies, bares, ours, singles = [], [], [], []
    for n in range(1, ROUNDS + 1):
        progress.update(task, description=f"round {n} of {ROUNDS}: COPY")
        copies.append(await bench.fill(jobs))
        await bench.empty()
        progress.update(task, description=f"round {n} of {ROUNDS}: bare SQL")
        bares.append(await bench.bare_rate())
        progress.update(task, description=f"round {n} of {ROUNDS}: penstock")
        ours.append(await bench.our_rate())
        progress.update(task, description=f"round {n} of {ROUNDS}: single enqueue")
        singles.append(await bench.single_rates(4000))
        await bench.empty()
    progress.update(task, description=f"a flow of {flow:,} jobs")
    free = await bench.flow(flow, pinned=False)
    progress.update(task, description=f"a flow of {flow:,} jobs, an old snapshot open")
    pinned = await bench.flow(flow, pinned=True)
    progress.remove_task(task)
    return {
        "bare_per_s": statistics.median(bares),
        "penstock_per_s": statistics.median(ours),
        # of neighbours in time: the machine's mood changes between rounds
        "ratio": statistics.median(our / ceiling for our, ceiling in zip(ours, bares, strict=True)),
        "pinned_ratio": statistics.fmean(pinned) / statistics.fmean(free),
        "copy_per_s": statistics.median(copies),
        "single_ratio": statistics.median(our / ceiling for ceiling, our in singles),
        "single_per_s": statistics.median(our for _, our in singles),
        "flow_per_s": free,
        "pinned_flow_per_s": pinned,
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--jobs", type=int, default=200_000, help="jobs in each drain")
    parser.add_argument("--flow", type=int, default=500_000, help="jobs in the continuous flow")
    options = parser.parse_args()
    folder = HERE.parent / ".cache" / "bench-postgres"
    shutil.rmtree(folder, ignore_errors=True)
    settings = {"synchronous_commit": "on", "fsync": "on", "shared_buffers": "512MB", "max_wal_size": "8GB"}
    console = Console()
    columns = SpinnerColumn(), TextColumn("{task.description}"), TimeElapsedColumn()
    with embedded.start(folder, settings=settings) as postgres, Progress(*columns, console=console) as progress:
        app = Penstock(postgres.url, migrate=True, pool_size=16)

        @app.job
        async def noop(n: int) -> None:
            del n

        async def measure() -> dict[str, Any]:
            async with app:
                return await run(app, noop, options.jobs, options.flow, progress)

        results = asyncio.run(measure())
    _show(console, results)
    target = HERE / "results" / "engine.json"
    target.parent.mkdir(exist_ok=True)
    target.write_text(json.dumps(results, indent=2) + "\n")
    console.print(f"written to {target.relative_to(HERE.parent)}")


def _show(console: Console, results: dict[str, Any]) -> None:
    table = Table(title="engine", box=None)
    table.add_column("what")
    table.add_column("measured", justify="right")
    table.add_column("goal", justify="right")
    for name, label, form in (
        ("bare_per_s", "bare SQL, claim + complete, jobs/s", ",.0f"),
        ("penstock_per_s", "Penstock, claim + complete, jobs/s", ",.0f"),
        ("ratio", "ratio", ".2f"),
        ("pinned_ratio", "rate with an old snapshot open / without", ".2f"),
        ("copy_per_s", "aenqueue_many by COPY from two tasks, jobs/s", ",.0f"),
        ("single_ratio", "aenqueue from 16 tasks / bare INSERT", ".2f"),
    ):
        goal = GOALS.get(name)
        met = goal is None or results[name] >= goal
        shown = f"[{'green' if met else 'red'}]{results[name]:{form}}[/]"
        table.add_row(label, shown, "" if goal is None else f"≥ {goal:{form}}")
    console.print(table)
    for name, label in (("flow_per_s", "flow"), ("pinned_flow_per_s", "flow, old snapshot open")):
        console.print(
            f"{label:>24}: " + " ".join(f"{rate / 1000:5.1f}" for rate in results[name]) + "  thousand jobs/s"
        )


if __name__ == "__main__":
    main()
