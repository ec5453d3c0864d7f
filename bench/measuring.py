"""Measurements of one worker system on one server: each the same for all systems."""

import asyncio
import math
import random
import time
from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

import psycopg
from redis.asyncio import Redis

from bench import payload, proc, processes
from bench.gauge import Gauge, Reading, since
from bench.processes import ROOT, Program
from bench.stores import PostgresStore, RedisStore, Store, held_snapshot
from bench.systems import System
from bench.valkey import Valkey

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
    enqueue_seconds: float

    @property
    def rate(self) -> float:
        return self.jobs / self.seconds

    @property
    def enqueue_rate(self) -> float:
        return self.jobs / self.enqueue_seconds

    @property
    def wal(self) -> int | None:
        """Of their whole life."""
        return None if self.enqueue.wal is None or self.after.wal is None else self.enqueue.wal + self.after.wal


class Server:
    """A Postgres, and a Redis beside it for those that need one."""

    def __init__(self, url: str, gauge: Gauge, redis: Valkey | None = None) -> None:
        self.url = url
        self.gauge = gauge
        self.redis = redis

    @classmethod
    async def at(cls, url: str, redis: Valkey | None = None) -> "Server":
        async with await psycopg.AsyncConnection.connect(url) as connection:
            return cls(url, Gauge.beside(connection), redis)

    def url_of(self, system: System) -> str:
        if system.store == "Redis":
            assert self.redis is not None
            return self.redis.url
        return urlsplit(self.url)._replace(path=f"/{system.database}").geturl()

    async def create_database(self, system: System) -> None:
        if system.store == "Postgres":
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

    @asynccontextmanager
    async def store(self, system: System) -> AsyncIterator[Store]:
        if system.store == "Redis":
            assert self.redis is not None
            async with Redis(port=self.redis.port) as client:
                yield RedisStore(system, client, self.redis.pid)
        else:
            async with self.connection(system) as connection:
                yield PostgresStore(system, connection, self.gauge)

    async def empty(self, system: System) -> None:
        if system.store == "Postgres" and not system.tables:
            await self.create_database(system)
            return
        async with self.store(system) as store:
            await store.empty()

    async def fill(self, system: System, jobs: int, size: int = 0) -> tuple[Reading, float]:
        """Puts so many jobs into its queue; the server has nothing left to do. What it took, and how many seconds."""
        documents = (str(payload.write(size, DOCUMENTS)),) if size else ()
        async with self.store(system) as store:
            before = await store.read()
            async with self.runner(system, "fill", str(jobs), *documents) as program:
                [nanoseconds] = await program.hear("filled")
                await program.end()
            spent = before.to(await store.read())
            await store.settle()
        return spent, nanoseconds / 1e9

    @asynccontextmanager
    async def workers(self, system: System, count: int) -> AsyncIterator[list[Program]]:
        """So many worker processes, connected, waiting for `go`."""
        async with AsyncExitStack() as stack:
            workers = [await stack.enter_async_context(self.runner(system, "work")) for _ in range(count)]
            for worker in workers:
                await worker.hear("ready")
            yield workers

    async def drain(
        self, system: System, jobs: int, processes: int = 1, size: int = 0, *, held: bool = False
    ) -> Drained:
        """With `held`, while somebody keeps a snapshot from before the first of these jobs."""
        await self.empty(system)
        async with AsyncExitStack() as stack:
            # what is left would be vacuumed while the next is measured: 1,200 bytes of WAL to each of its jobs
            stack.push_async_callback(self.empty, system)
            if held:
                await stack.enter_async_context(held_snapshot(self.url_of(system), system.jobs))
            enqueue, enqueue_seconds = await self.fill(system, jobs, size)
            workers = await stack.enter_async_context(self.workers(system, processes))
            store = await stack.enter_async_context(self.store(system))
            worker_cpu, before = _cpu_of(workers), await store.read()
            seconds = await self.time_to_empty(system, workers, jobs)
            after = before.to(await store.read())
            return Drained(jobs, seconds, since(worker_cpu, _cpu_of(workers)), enqueue, after, enqueue_seconds)

    async def time_to_empty(
        self, system: System, workers: Sequence[Program], jobs: int, producer: Program | None = None
    ) -> float:
        """Seconds from `go` until every job was run and is stored as finished.

        A run job alone does not count: whoever completes late would look fast.
        """
        async with self.store(system) as store:
            started = time.perf_counter()
            for program in (*workers, *([producer] if producer else [])):
                program.say("go")
            await _count_to(jobs, workers)
            while True:
                if not await store.unfinished():
                    return time.perf_counter() - started
                await asyncio.sleep(0.002)

    async def enqueue_rate(self, system: System, jobs: int) -> float:
        """Jobs a second by somebody who enqueues them one by one."""
        await self.empty(system)
        async with self.runner(system, "produce", "1", str(jobs)) as producer:
            await producer.hear("ready")
            producer.say("go")
            [nanoseconds] = await producer.hear("produced")
        return jobs / nanoseconds * 1e9

    async def rate_at_once(self, system: System, producers: int, jobs: int) -> float:
        """Jobs a second from the first enqueue to the last finished, so many enqueueing singly and a worker at it."""
        await self.empty(system)
        async with self.runner(system, "produce", str(producers), str(jobs)) as producer:
            await producer.hear("ready")
            async with self.workers(system, 1) as workers:
                return jobs / await self.time_to_empty(system, workers, jobs, producer)

    async def idle_latencies(self, system: System, samples: int, longest: float = math.inf) -> list[float]:
        """Milliseconds from before the call that enqueues to the start of the handler, with nothing else queued.

        Who is slow is asked less often: after so many seconds, and not before a few are there.
        """
        await self.empty(system)
        async with self.store(system) as store:
            await store.settle()  # a disk that is still busy with a drain was half as slow again
        latencies: list[float] = []
        async with self.runner(system, "enqueue") as enqueuer, self.runner(system, "answer") as worker:
            await enqueuer.hear("ready")
            await worker.hear("ready")
            worker.say("go")
            last = time.monotonic() + longest
            for n in range(WARM_UPS + samples):
                if len(latencies) >= 2 * WARM_UPS and time.monotonic() > last:
                    break
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

        await self.empty(system)
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
    seconds = [proc.family_cpu_seconds(worker.pid) for worker in workers]
    known = [each for each in seconds if each is not None]
    return sum(known) if len(known) == len(seconds) else None
