"""Measurements of one worker system on one server: each the same for all systems."""

import asyncio
import random
import time
from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

import psycopg

from bench import payload, proc, processes
from bench.gauge import Gauge, Reading, since
from bench.processes import ROOT, Program
from bench.systems import System

WARM_UPS = 20
PAUSE = (0.010, 0.020)
DOCUMENTS = ROOT / ".cache" / "bench-payloads"


@dataclass(frozen=True)
class Drained:
    jobs: int
    seconds: float
    worker_cpu: float | None
    enqueue: Reading
    """What Postgres spent on enqueueing them all."""
    after: Reading
    """What it spent from then until the last was stored as finished."""

    @property
    def rate(self) -> float:
        return self.jobs / self.seconds


class Server:
    def __init__(self, url: str, gauge: Gauge) -> None:
        self.url = url
        self.gauge = gauge

    @classmethod
    async def at(cls, url: str) -> "Server":
        async with await psycopg.AsyncConnection.connect(url) as connection:
            return cls(url, Gauge.beside(connection))

    def url_of(self, system: System) -> str:
        return urlsplit(self.url)._replace(path=f"/{system.database}").geturl()

    async def create_database(self, system: System) -> None:
        await self.drop_database(system)
        async with await psycopg.AsyncConnection.connect(self.url, autocommit=True) as connection:
            await connection.execute(f"create database {system.database}".encode())
        await self.run(system, "prepare")

    async def drop_database(self, system: System) -> None:
        async with await psycopg.AsyncConnection.connect(self.url, autocommit=True) as connection:
            await connection.execute(f"drop database if exists {system.database} with (force)".encode())

    async def run(self, system: System, *mode: str) -> None:
        async with self.runner(system, *mode) as program:
            await program.end()

    @asynccontextmanager
    async def runner(self, system: System, *mode: str) -> AsyncIterator[Program]:
        [verb, *rest] = mode
        command = (*system.command, verb, self.url_of(system), *rest)
        async with processes.started(f"{system.name} ({verb})", command, system.environment) as program:
            yield program

    @asynccontextmanager
    async def connection(self, system: System) -> AsyncIterator[psycopg.AsyncConnection[Any]]:
        url = self.url_of(system)
        async with await psycopg.AsyncConnection.connect(url, autocommit=True) as connection:
            yield connection

    async def fill(self, system: System, jobs: int, size: int = 0) -> Reading:
        """Its queue with so many jobs in it, and nothing else; the server has nothing left to do.

        What enqueueing them took.
        """
        documents = (str(payload.write(size, DOCUMENTS)),) if size else ()
        async with self.connection(system) as connection:
            if system.tables:
                await connection.execute(f"truncate {system.tables}".encode())
            before = await self.gauge.read(connection)
            await self.run(system, "fill", str(jobs), *documents)
            spent = before.to(await self.gauge.read(connection))
            await connection.execute("analyze")
            await connection.execute("checkpoint")
        return spent

    @asynccontextmanager
    async def workers(self, system: System, count: int) -> AsyncIterator[list[Program]]:
        """So many worker processes, connected, waiting for `go`."""
        async with AsyncExitStack() as stack:
            workers = [await stack.enter_async_context(self.runner(system, "work")) for _ in range(count)]
            for worker in workers:
                await worker.hear("ready")
            yield workers

    async def drain(self, system: System, jobs: int, processes: int = 1, size: int = 0) -> Drained:
        enqueue = await self.fill(system, jobs, size)
        async with self.workers(system, processes) as workers, self.connection(system) as connection:
            worker_cpu, before = _cpu_of(workers), await self.gauge.read(connection)
            seconds = await self.time_to_empty(system, workers, jobs)
            after = before.to(await self.gauge.read(connection))
            return Drained(jobs, seconds, since(worker_cpu, _cpu_of(workers)), enqueue, after)

    async def time_to_empty(self, system: System, workers: Sequence[Program], jobs: int) -> float:
        """Seconds from `go` until every job was run and is stored as finished.

        A run job alone does not count: whoever completes late would look fast.
        """
        async with self.connection(system) as connection:
            started = time.perf_counter()
            for worker in workers:
                worker.say("go")
            await _count_to(jobs, workers)
            while True:
                cursor = await connection.execute(system.unfinished.encode())
                [unfinished] = await cursor.fetchone() or [True]
                if not unfinished:
                    return time.perf_counter() - started
                await asyncio.sleep(0.002)

    async def idle_latencies(self, system: System, samples: int) -> list[float]:
        """Milliseconds from before the call that enqueues to the start of the handler, with nothing else queued."""
        await self.fill(system, 0)
        latencies = []
        async with self.runner(system, "enqueue") as enqueuer, self.runner(system, "answer") as worker:
            await enqueuer.hear("ready")
            await worker.hear("ready")
            worker.say("go")
            for n in range(WARM_UPS + samples):
                enqueuer.say(str(n))
                [_, before, _] = await enqueuer.hear("enqueued")
                [started_n, started] = await worker.hear("started")
                if started_n != n:
                    raise worker.failure(f"ran job {started_n} when {n} was due")
                latencies.append((started - before) / 1e6)
                await asyncio.sleep(random.uniform(*PAUSE))
        return latencies[WARM_UPS:]

    async def memory(self, system: System, jobs: int) -> list[float]:
        """Resident megabytes of one worker, every 200 ms over so many jobs."""
        samples = []

        async def sample(pid: int) -> None:
            while (megabytes := proc.resident_mb(pid)) is not None:
                samples.append(megabytes)
                await asyncio.sleep(0.2)

        await self.fill(system, jobs)
        async with self.workers(system, 1) as workers:
            sampling = asyncio.create_task(sample(workers[0].pid))
            try:
                await self.time_to_empty(system, workers, jobs)
            finally:
                sampling.cancel()
        return samples


async def _count_to(jobs: int, workers: Sequence[Program]) -> None:
    counts = dict.fromkeys(workers, 0)

    async def follow(worker: Program) -> None:
        while sum(counts.values()) < jobs:
            [counts[worker]] = await worker.hear("count")

    following = [asyncio.create_task(follow(worker)) for worker in workers]
    try:
        done, _ = await asyncio.wait(following, return_when=asyncio.FIRST_COMPLETED)
        for task in done:
            task.result()
    finally:
        for task in following:
            task.cancel()


def _cpu_of(workers: Sequence[Program]) -> float | None:
    seconds = [proc.cpu_seconds(worker.pid) for worker in workers]
    known = [each for each in seconds if each is not None]
    return sum(known) if len(known) == len(seconds) else None
