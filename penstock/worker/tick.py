"""A worker that does not stay: claims and runs jobs for a while, reports each, and leaves. For serverless functions."""

import asyncio
import os
import socket
import time
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from uuid import UUID

from penstock.artifacts.of_job import StoreKeeper
from penstock.engine import PostgresEngine, calls
from penstock.errors import InvalidInput
from penstock.job import JobState
from penstock.registry import Registry
from penstock.worker.calling import Calls
from penstock.worker.completer import Completer
from penstock.worker.cron import fire_due
from penstock.worker.endings import Ending
from penstock.worker.executor import Executor
from penstock.worker.lane import Lane, check_slots
from penstock.worker.reporter import Reporter
from penstock.worker.run import Run, Stop

_MARGIN = 30.0
"""Seconds the lease outlives the budget: to finish, clean up and report."""
CLEANUP = 3.0
LAST_WORDS = 10.0
SLOTS = 10


@dataclass(frozen=True, slots=True)
class TickResult:
    """What became of one job: `scheduled` or `ready` when it will run again."""

    id: UUID
    kind: str
    state: JobState
    attempt: int
    seconds: float
    error: str | None = None


class Tick:
    def __init__(self, engine: PostgresEngine, registry: Registry, queues: Mapping[str, int]) -> None:
        self._engine = engine
        self._registry = registry
        self._lanes = [Lane(queue, slots, registry.batch_size(queue)) for queue, slots in queues.items()]
        self._ended: list[tuple[Run, float]] = []
        self._reported = asyncio.Event()
        self._reporter = Reporter(engine, self._cancel)
        threads = sum(queues.values())
        keeper = StoreKeeper(engine, registry.storage) if registry.storage is not None else None
        self._calls = Calls(registry.handlers, registry.middleware, engine, self._reporter.note, threads, keeper)
        self._executor = Executor(self._calls, self._end)
        self._completer = Completer(engine, self._executor.forget, self._reported.set, lambda: None)

    async def run(self, limit: int, budget: float) -> list[TickResult]:
        deadline = time.monotonic() + budget
        await self._engine.arun(calls.maintain())
        await fire_due(self._engine, self._registry.schedules, database=True)
        name = f"tick {socket.gethostname()}:{os.getpid()}"
        kinds = sorted(self._registry.handlers)
        lease = await self._engine.arun(calls.open_lease(name, seconds=budget + _MARGIN, kinds=kinds))
        self._completer.start()
        self._reporter.start()
        try:
            while limit > 0 and time.monotonic() < deadline:
                self._reported.clear()
                claimed = 0
                for lane in self._lanes:
                    wanted = min(limit - claimed, lane.wanted())
                    if wanted > 0:
                        jobs = await self._engine.arun(calls.claim(lease, lane.queue, wanted))
                        self._executor.take(lane, lease, jobs)
                        claimed += len(jobs)
                limit -= claimed
                if not claimed:
                    if not self._executor.runs:
                        break
                    await self._wait(deadline)
            await self._wind_down(deadline)
        finally:
            self._executor.stop_all(Stop.SHUTDOWN)
            await self._executor.finish(CLEANUP)
            with suppress(TimeoutError):  # the database is away: those jobs run again when the lease ends
                async with asyncio.timeout(LAST_WORDS):
                    await self._completer.drained()
            await self._completer.stop()
            await self._reporter.stop()
            self._calls.close()
            await self._engine.arun(calls.close_lease(lease))
        return [await self._result(run, seconds) for run, seconds in self._ended]

    async def _wait(self, deadline: float) -> None:
        try:
            async with asyncio.timeout(max(0.0, deadline - time.monotonic())):
                await self._reported.wait()
        except TimeoutError:
            pass

    async def _wind_down(self, deadline: float) -> None:
        """What runs may finish within the budget; the rest is given back at no cost of an attempt."""
        while self._executor.runs and time.monotonic() < deadline:
            self._reported.clear()
            await self._wait(deadline)
        self._executor.stopping = True
        self._executor.drop_waiting(self._lanes, Stop.SHUTDOWN)

    def _end(self, lane: Lane, run: Run, ending: Ending) -> None:
        self._ended.append((run, time.monotonic() - run.claimed_at))
        self._completer.add(lane, run, ending)

    def _cancel(self, id: UUID) -> None:
        self._executor.cancel(id)

    async def _result(self, run: Run, seconds: float) -> TickResult:
        job = await self._engine.arun(calls.get_job(run.job.id))
        if job is None:  # a queue that keeps only failures
            return TickResult(run.job.id, run.job.kind, JobState.SUCCEEDED, run.job.attempt, seconds)
        error = None if job.state is JobState.SUCCEEDED else job.parked_reason or job.last_error
        return TickResult(job.id, job.kind, job.state, run.job.attempt, seconds, error)


async def tick(
    engine: PostgresEngine, registry: Registry, *, limit: int, budget: float, queues: Mapping[str, int] | None
) -> list[TickResult]:
    """Runs up to `limit` jobs for about `budget` seconds; what became of each."""
    if not isinstance(limit, int) or limit < 1:
        raise InvalidInput("limit", f"must be at least 1, not {limit!r}")
    if not isinstance(budget, int | float) or not 0 < budget < 1e6:
        raise InvalidInput("budget", f"must be a positive number of seconds, not {budget!r}")
    if queues is None:
        queues = dict.fromkeys(sorted({handler.options.queue for handler in registry.handlers.values()}), SLOTS)
    check_slots(queues)
    return await Tick(engine, registry, queues).run(limit, budget)
