"""A steady flow of jobs through one system, while somebody keeps an old snapshot open."""

import asyncio
import statistics
import time
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

import psycopg

from bench.figures import percentile
from bench.measuring import Server
from bench.processes import Program
from bench.stores import held_snapshot
from bench.systems import System

BATCH = 500
PARTS = 10
"""Of the time for which the snapshot is held. One more comes before it."""
RELEASED = 2
"""More of them, once it is gone."""
PROBES = 5
"""Single enqueues a second, on a connection of their own."""
WARM_UP = 10.0

GROWN = """
select schemaname || '.' || relname, n_dead_tup, pg_total_relation_size(relid)
  from pg_stat_user_tables
"""


@dataclass(frozen=True)
class Grown:
    """Dead rows of a database, and the bytes of each table with its indexes."""

    dead: int
    tables: dict[str, int]

    @property
    def disk(self) -> int:
        return sum(self.tables.values())


@dataclass
class Part:
    """What was seen in a part of the time."""

    held: bool
    began: float = field(default_factory=time.monotonic)
    seconds: float = 0.0
    sent: int = 0
    ran: int = 0
    waited_ms: list[float] = field(default_factory=list)
    """From enqueue to start, of some of the jobs that started."""
    enqueued_ms: list[float] = field(default_factory=list)
    """Of each single enqueue."""
    grown: "Grown" = field(default_factory=lambda: Grown(0, {}))
    """What there was at its end."""

    def figures(self) -> dict[str, Any]:
        return {
            "held": self.held,
            "p50_ms": percentile(self.waited_ms, "p50") if self.waited_ms else None,
            "p99_ms": percentile(self.waited_ms, "p99") if self.waited_ms else None,
            "enqueue_ms": statistics.fmean(self.enqueued_ms) if self.enqueued_ms else None,
            "enqueue_p50_ms": percentile(self.enqueued_ms, "p50") if self.enqueued_ms else None,
            "enqueue_p99_ms": percentile(self.enqueued_ms, "p99") if self.enqueued_ms else None,
            "sent_per_s": self.sent / self.seconds,
            "run_per_s": self.ran / self.seconds,
            "dead_rows": self.grown.dead,
            "disk_mb": self.grown.disk / 2**20,
        }


class Flow:
    """Who enqueues at a steady rate, who runs the jobs, and who enqueues one now and then; all are processes."""

    def __init__(self, sender: Program, worker: Program, prober: Program) -> None:
        self._sender = sender
        self._worker = worker
        self._prober = prober
        self._part = Part(held=False)
        self._following: asyncio.Task[None] | None = None

    @classmethod
    @asynccontextmanager
    async def running(cls, server: Server, system: System, rate: int) -> AsyncIterator["Flow"]:
        # ten calls a second at least, lest a slow flow come in lumps
        batch = max(1, min(BATCH, rate // 10))
        async with AsyncExitStack() as stack:
            programs = [
                await stack.enter_async_context(server.runner(system, *mode))
                for mode in (("flow", str(rate), str(batch)), ("watch",), ("enqueue",))
            ]
            for program in programs:
                await program.hear("ready")
            flow = cls(*programs)
            flow._following = asyncio.create_task(flow._follow())
            try:
                yield flow
            finally:
                flow._following.cancel()
                await asyncio.wait([flow._following])

    async def part(self, seconds: float, *, held: bool, tick: Callable[[float], None]) -> Part:
        """So many seconds of it."""
        assert self._following is not None
        part = self._part = Part(held)
        while (left := part.began + seconds - time.monotonic()) > 0:
            before = time.monotonic()
            await asyncio.wait([self._following], timeout=min(left, 0.5))
            if self._following.done():
                self._following.result()
            tick(time.monotonic() - before)
        part.seconds = time.monotonic() - part.began
        self._part = Part(held)
        return part

    async def _follow(self) -> None:
        await asyncio.gather(self._follow_sender(), self._follow_worker(), self._probe())

    async def _follow_sender(self) -> None:
        self._sender.say("go")
        sent = 0
        while True:
            [now] = await self._sender.hear("sent")
            self._part.sent += now - sent
            sent = now

    async def _follow_worker(self) -> None:
        self._worker.say("go")
        ran = 0
        while True:
            [now, *waited] = await self._worker.hear("ran")
            self._part.ran += now - ran
            self._part.waited_ms.extend(each / 1000 for each in waited)
            ran = now

    async def _probe(self) -> None:
        while True:
            # the number of a job is when it was enqueued, here too
            self._prober.say(str(time.monotonic_ns()))
            [_, before, after] = await self._prober.hear("enqueued")
            self._part.enqueued_ms.append((after - before) / 1e6)
            await asyncio.sleep(1 / PROBES)


async def measure(
    server: Server, system: System, rate: int, seconds: float, tick: Callable[[float], None]
) -> tuple[Grown, list[Part]]:
    """What there was before, and the parts: one before the snapshot, its own of so many seconds, and those after it."""
    each = seconds / PARTS
    await server.empty(system)
    async with server.connection(system) as connection, Flow.running(server, system, rate) as flow:

        async def part(*, held: bool) -> Part:
            seen = await flow.part(each, held=held, tick=tick)
            seen.grown = await _grown(connection)
            return seen

        await flow.part(warm_up(seconds), held=False, tick=tick)
        before = await _grown(connection)
        parts = [await part(held=False)]
        async with held_snapshot(server.url_of(system), system.jobs):
            parts += [await part(held=True) for _ in range(PARTS)]
        return before, parts + [await part(held=False) for _ in range(RELEASED)]


def duration(seconds: float) -> float:
    """Of measuring one system with a snapshot of so many seconds, all in all."""
    return warm_up(seconds) + seconds * (1 + PARTS + RELEASED) / PARTS


def warm_up(seconds: float) -> float:
    return min(WARM_UP, seconds / PARTS)


async def _grown(connection: psycopg.AsyncConnection[Any]) -> Grown:
    cursor = await connection.execute(GROWN)
    rows = await cursor.fetchall()
    return Grown(sum(dead for _, dead, _ in rows), {name: size for name, _, size in rows})
