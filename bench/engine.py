"""`make bench-engine`: the engine beside the bare SQL that could do the same, in one run on one Postgres.

Prints tables and adds to bench/results/engine.json. What counts are the ratios: absolute rates are the machine's.
"""

import argparse
import asyncio
import shutil
import statistics
import time
from collections import defaultdict
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path
from typing import Any

import psycopg
from rich.console import Console
from rich.progress import BarColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn
from uuid_utils.compat import uuid7

from bench import bare, costs, engine_report, figures, goals, payload, systems
from bench.gauge import Gauge
from bench.measuring import Drained
from bench.payload import Document
from bench.peers.protocol import arguments, calls
from bench.processes import ROOT
from penstock import Handler, Penstock, embedded
from penstock.engine import Cursor
from penstock.engine.commands import Complete, Completed, OpenLease
from penstock.job import Lease

BATCH = 500
STEP = 10_000
BACKLOG = 20_000
SINGLES = 4_000
PARTS = 10
"""In which a flow is measured."""
FOLDER = ROOT / ".cache" / "bench-postgres"


class Bench:
    def __init__(self, app: Penstock, gauge: Gauge) -> None:
        self.app = app
        self.gauge = gauge

        @app.job
        async def noop(n: int) -> None:
            del n

        @app.job
        async def read(n: int, document: Document) -> None:
            del n, document

        self.noop: Handler[[int], None] = noop
        self.read: Handler[[int, Document], None] = read

    async def fill(self, jobs: int, documents: list[Document] | None = None) -> None:
        """Enqueues by COPY through the public API, some thousand jobs a call.

        From two tasks: Python prepares one call while Postgres writes the other.
        """
        held = documents or []
        waiting = iter(calls(jobs, held))

        async def enqueue() -> None:
            for numbers in waiting:
                await (self.read if held else self.noop).aenqueue_many(arguments(numbers, held))

        await asyncio.gather(enqueue(), enqueue())

    async def fill_bare(self, jobs: int, documents: list[Document]) -> None:
        async with self.connection() as connection:
            await connection.execute(bare.TABLES)
            for numbers in calls(jobs, documents):
                await bare.fill(connection, arguments(numbers, documents))

    async def empty(self) -> None:
        async with self.connection() as connection:
            await connection.execute(f"truncate {systems.OURS.tables}".encode())
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
            wanted = min(BATCH, jobs - done)
            claimed = await engine.arun(cursor.claim(lease, "default", wanted))
            cursor.advance(claimed, wanted)
            if not claimed and cursor.looked_everywhere:
                raise SystemExit(f"only {done} of {jobs} jobs came")
            if claimed:
                refused = await engine.arun(Complete(lease, [Completed(job.id, job.claims) for job in claimed]))
                done += len(claimed) - len(refused)
        return time.perf_counter() - started

    async def drain_all(self, jobs: int) -> None:
        await self.drain(await self.app.engine.arun(OpenLease("bench", seconds=3600)), Cursor(), jobs)

    async def drain_bare(self) -> None:
        async with self.connection() as connection:
            await bare.drain(connection, BATCH)

    async def measure(
        self, jobs: int, fill: Callable[[], Awaitable[None]], drain: Callable[[], Awaitable[None]]
    ) -> tuple[float, Drained]:
        """How fast jobs are enqueued, and then drained; with what either costs."""
        async with self.connection() as connection:
            before = await self.gauge.read(connection)
            started = time.perf_counter()
            await fill()
            filling = time.perf_counter() - started
            enqueue = before.to(await self.gauge.read(connection))
            await connection.execute("analyze")
            await connection.execute("checkpoint")
            before = await self.gauge.read(connection)
            started, cpu = time.perf_counter(), time.process_time()
            await drain()
            seconds, cpu = time.perf_counter() - started, time.process_time() - cpu
            after = before.to(await self.gauge.read(connection))
        return jobs / filling, Drained(jobs, seconds, cpu, enqueue, after, filling)

    async def flow(self, jobs: int, *, pinned: bool) -> list[float]:
        """Drains a continuous flow of jobs in tenths; the rate in each. A backlog is kept all the while."""
        part = jobs // PARTS
        lease = await self.app.engine.arun(OpenLease("bench", seconds=3600))
        cursor = Cursor()
        rates = []
        async with self.connection() as old:
            if pinned:
                # a transaction left open elsewhere: vacuum may remove nothing that it could still see
                await old.execute("begin isolation level repeatable read")
                await old.execute("select count(*) from penstock.jobs")
            await self.fill(min(BACKLOG, jobs))
            for _ in range(PARTS):
                seconds = 0.0
                for start in range(0, part, STEP):
                    step = min(STEP, part - start)
                    await self.fill(step)
                    seconds += await self.drain(lease, cursor, step)
                rates.append(part / seconds)
        await self.empty()
        return rates

    async def single_rates(self, jobs: int) -> tuple[float, float]:
        """One INSERT at a time from 16 tasks: bare, then through aenqueue."""
        async with self.connection() as connection:
            await connection.execute(bare.TABLES)
        pool = await self.app.database.pools.of_this_loop()

        async def insert(n: int) -> None:
            async with pool.connection() as connection:
                await connection.execute(bare.INSERT, (uuid7(), "noop", "default", f'{{"n": {n}}}'))

        async def enqueue(n: int) -> None:
            await self.noop.aenqueue(n)

        rates = await _by_sixteen(insert, jobs), await _by_sixteen(enqueue, jobs)
        await self.empty()
        return rates


async def _by_sixteen(one: Callable[[int], Awaitable[None]], jobs: int) -> float:
    numbers = iter(range(jobs))

    async def worker() -> None:
        for n in numbers:
            await one(n)

    started = time.perf_counter()
    await asyncio.gather(*(worker() for _ in range(16)))
    return jobs / (time.perf_counter() - started)


async def run(bench: Bench, options: argparse.Namespace, progress: Progress) -> dict[str, Any]:
    rounds, sizes = options.rounds, list(dict.fromkeys(options.payload))
    task = progress.add_task("warming up", total=rounds * (2 * len(sizes) + 1) + 2)
    warm_up = min(BACKLOG, options.jobs)
    await bench.fill(warm_up)
    await bench.drain_all(warm_up)
    await bench.empty()

    def tell(what: str) -> None:
        progress.update(task, description=what)

    drains: costs.Runs = {size: defaultdict(list) for size in sizes}
    copies: dict[int, list[float]] = defaultdict(list)
    singles = []
    for n in range(1, rounds + 1):
        for size in sizes:
            # as many bytes as fit the time: 10 KB take ten times as long to write
            jobs = max(BATCH, options.jobs * 1024 // (1024 + size))
            held = payload.documents(size)
            tell(f"round {n} of {rounds}: {size:,} bytes, bare SQL")
            _, drained = await bench.measure(jobs, partial(bench.fill_bare, jobs, held), bench.drain_bare)
            drains[size]["bare"].append(drained)
            progress.advance(task)
            tell(f"round {n} of {rounds}: {size:,} bytes, penstock")
            copied, drained = await bench.measure(jobs, partial(bench.fill, jobs, held), partial(bench.drain_all, jobs))
            drains[size]["penstock"].append(drained)
            copies[size].append(copied)
            await bench.empty()
            progress.advance(task)
        tell(f"round {n} of {rounds}: single enqueue")
        singles.append(await bench.single_rates(min(SINGLES, options.jobs // 4)))
        progress.advance(task)
    tell(f"a flow of {options.flow:,} jobs")
    free = await bench.flow(options.flow, pinned=False)
    progress.advance(task)
    tell(f"a flow of {options.flow:,} jobs, an old snapshot open")
    pinned = await bench.flow(options.flow, pinned=True)
    progress.remove_task(task)
    return {
        "payloads": sizes,
        **{name: value for size in sizes for name, value in _rates(size, drains[size], copies[size]).items()},
        **costs.results(drains),
        "pinned_ratio": statistics.fmean(pinned) / statistics.fmean(free),
        "single_ratio": statistics.median(our / ceiling for ceiling, our in singles),
        "single_per_s": statistics.median(our for _, our in singles),
        "flow_per_s": free,
        "pinned_flow_per_s": pinned,
    }


def _rates(size: int, drains: dict[str, list[Drained]], copies: list[float]) -> dict[str, float]:
    bares, ours = ([each.rate for each in drains[name]] for name in ("bare", "penstock"))
    rates = {
        "bare_per_s": statistics.median(bares),
        "penstock_per_s": statistics.median(ours),
        # of neighbours in time: the machine's mood changes between rounds
        "ratio": statistics.median(our / ceiling for our, ceiling in zip(ours, bares, strict=True)),
        "copy_per_s": statistics.median(copies),
    }
    return {f"{name}{payload.suffix(size)}": value for name, value in rates.items()}


def options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--jobs", type=figures.at_least(BATCH), default=200_000, help="in each drain; fewer where they are large"
    )
    figures.add_payload_option(parser)
    parser.add_argument("--flow", type=figures.at_least(PARTS), default=500_000, help="jobs in the continuous flow")
    parser.add_argument("--rounds", type=figures.at_least(1), default=5)
    parser.add_argument("--results", type=Path, default=ROOT / "bench" / "results" / "engine.json")
    parser.add_argument("--folder", type=Path, default=FOLDER, help="of the server")
    return parser.parse_args()


def main() -> None:
    chosen = options()
    if chosen.folder == FOLDER:
        shutil.rmtree(FOLDER, ignore_errors=True)
    settings = {"synchronous_commit": "on", "fsync": "on", "shared_buffers": "512MB", "max_wal_size": "8GB"}
    console = Console()
    columns = SpinnerColumn(), TextColumn("{task.description}"), BarColumn(), TimeElapsedColumn()
    try:
        with (
            embedded.start(chosen.folder, settings=settings) as postgres,
            Progress(*columns, console=console, transient=True) as progress,
        ):
            app = Penstock(postgres.url, migrate=True, pool_size=16)

            async def measure() -> dict[str, Any]:
                async with app, await psycopg.AsyncConnection.connect(postgres.url) as connection:
                    return await run(Bench(app, Gauge.beside(connection)), chosen, progress)

            results = asyncio.run(measure())
    except KeyboardInterrupt:
        raise SystemExit("stopped; nothing was written") from None
    engine_report.show(console, results)
    figures.merge(chosen.results, results)
    console.print(f"written to {chosen.results}")
    goals.end(goals.verdicts(*engine_report.judged(results)))


if __name__ == "__main__":
    main()
