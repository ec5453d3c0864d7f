"""A worker that does not stay: claims and runs jobs for a while, reports each, and leaves. For serverless functions."""

import asyncio
import os
import socket
import time
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from uuid import UUID

from penstock.engine import commands
from penstock.engine.protocol import Engine
from penstock.errors import InvalidInput
from penstock.job import ClaimedJob, JobState, Lease
from penstock.json import loads_anyway
from penstock.kinds import Registry
from penstock.storage.job_files import keeper_for
from penstock.worker.calling import Calls
from penstock.worker.completer import Completer
from penstock.worker.cron import fire_due
from penstock.worker.ending import Ending, NothingToReport, Released, Snoozed, Succeeded, ending_of_stopped
from penstock.worker.executor import Executor
from penstock.worker.failures import Failures
from penstock.worker.needs import check_needs
from penstock.worker.observers import Observers
from penstock.worker.reporter import Reporter
from penstock.worker.run import Lane, Run, Stop, check_slots
from penstock.worker.statistics import RunCounts, StatisticsReport

_MARGIN = 30.0
"""Seconds the lease outlives the budget: to finish, clean up and report."""
_AMPLE = 1.5
_LAST_SHARE = 0.05
FIRST_PAUSE = 0.02
LAST_PAUSE = 0.5
"""Seconds between looks for jobs while others run."""

CLEANUP = 3.0
LAST_WORDS = 10.0
SLOTS = 10


@dataclass(frozen=True, slots=True)
class TickResult:
    """What became of one job: `scheduled` or `ready` when it will run again. `error` says why it is not done.

    ```python
    for result in app.tick(limit=50, budget=20):
        print(result.kind, result.state, result.seconds, result.error)
    ```
    """

    id: UUID
    kind: str
    state: JobState
    attempt: int
    seconds: float
    error: str | None = None


@dataclass(frozen=True, slots=True)
class Budget:
    """The time for running jobs, and what it suffices for."""

    began: float
    deadline: float

    @property
    def half(self) -> float:
        """Whoever starts until then has a fair share."""
        return (self.began + self.deadline) / 2

    @property
    def is_fair(self) -> bool:
        return time.monotonic() <= self.half

    def suffices(self, lane: Lane) -> bool:
        """Whether to start another job: later on only where they are known to be quick enough."""
        left, length = self.deadline - time.monotonic(), self.deadline - self.began
        quick = lane.seconds is not None and left > max(_AMPLE * lane.seconds, _LAST_SHARE * length)
        return self.is_fair or quick


class Tick:
    def __init__(self, engine: Engine, registry: Registry, queues: Mapping[str, int]) -> None:
        self._engine = engine
        self._registry = registry
        self._lanes = [Lane(queue, slots, registry.batch_size(queue)) for queue, slots in queues.items()]
        self._ended: list[tuple[Run, Ending, float]] = []
        self._closed: set[Lane] = set()
        """From which nothing more is taken."""
        self._left: set[UUID] = set()
        """Jobs whose handlers were not waited for."""
        self._reported = asyncio.Event()
        self._reporter = Reporter(engine, self._cancel)
        threads = sum(queues.values())
        keeper = keeper_for(engine, registry.storage)
        self._calls = Calls(registry.handlers, registry.middleware, engine, self._reporter.note, threads, keeper)
        self._executor = Executor(self._calls, self._end)
        self._failures = Failures(registry.failure_hooks, registry.handlers)
        self._statistics = RunCounts()
        self._completer = Completer(
            engine, self._executor.forget, self._reported.set, lambda: None, self._failures, self._statistics,
            Observers(registry.end_hooks),
        )  # fmt: skip

    async def run(self, limit: int, budget: float) -> list[TickResult]:
        deadline = time.monotonic() + budget
        upkeep = await self._engine.arun(commands.Maintain())
        if upkeep is not None and upkeep.get("lost"):
            await self._failures.tell_lost(self._engine)
        await fire_due(self._engine, self._registry.schedules, database=True)
        name = f"tick {socket.gethostname()}:{os.getpid()}"
        kinds = sorted(self._registry.handlers)
        lease = await self._engine.arun(commands.OpenLease(name, seconds=budget + _MARGIN, kinds=kinds))
        self._completer.start()
        self._reporter.start()
        budgeted = Budget(time.monotonic(), deadline)
        pause = FIRST_PAUSE
        try:
            while limit > 0 and time.monotonic() < deadline:
                self._reported.clear()
                claimed = 0
                for lane in self._lanes:
                    claimed += await self._claim(lease, lane, limit - claimed, budgeted)
                limit -= claimed
                pause = FIRST_PAUSE if claimed else min(2 * pause, LAST_PAUSE)
                if not claimed:
                    if not self._executor.runs:
                        if self._reported.is_set():
                            continue  # what ended while it looked may have made others ready
                        break
                    # nothing tells it of jobs that come meanwhile, and a slot may be free for them
                    await self._wait(min(deadline, time.monotonic() + pause))
            await self._wind_down(budgeted)
        finally:
            self._executor.stop_all(Stop.SHUTDOWN)
            if not await self._executor.finish(CLEANUP):
                self._end_without_them()
            with suppress(TimeoutError):  # the database is away: those jobs run again when the lease ends
                async with asyncio.timeout(LAST_WORDS):
                    await self._completer.drained()
            await self._completer.stop()
            await self._reporter.stop()
            self._calls.close()
            slots = sum(lane.slots for lane in self._lanes)
            await StatisticsReport(self._engine, self._statistics, lambda: lease, lambda: False, slots).report()
            await self._engine.arun(commands.CloseLease(lease))
        return [await self._result(*ended) for ended in self._ended]

    async def _claim(self, lease: Lease, lane: Lane, most: int, budget: Budget) -> int:
        """Takes what the lane has slots and time for; how many jobs."""
        wanted = min(most, lane.wanted())
        if wanted < 1 or lane in self._closed or not budget.suffices(lane):
            return 0
        jobs = await self._engine.arun(commands.Claim(lease, lane.queue, wanted))
        fresh = jobs if budget.is_fair else [job for job in jobs if not _was_given_back(job)]
        self._executor.take(lane, lease, fresh)
        if len(fresh) < len(jobs):
            # it was cut off before: the next tick takes it early, when it has a fair share of the budget
            self._closed.add(lane)
            for job in jobs:
                if _was_given_back(job):
                    self._executor.refuse(lane, lease, job)
        return len(fresh)

    async def _wait(self, until: float) -> None:
        try:
            async with asyncio.timeout(max(0.0, until - time.monotonic())):
                await self._reported.wait()
        except TimeoutError:
            pass

    async def _wind_down(self, budget: Budget) -> None:
        """What runs may finish within the budget. What had a fair share of it and did not has failed an attempt, or it
        would go on like that for ever; the rest is given back."""
        while self._executor.runs and time.monotonic() < budget.deadline:
            self._reported.clear()
            await self._wait(budget.deadline)
        self._executor.stopping = True
        self._executor.drop_waiting(self._lanes, Stop.SHUTDOWN)
        for run in self._executor.runs.values():
            if run.begun:
                fair = run.started <= budget.half or _was_given_back(run.job)
                run.stop_for(Stop.BUDGET if fair else Stop.SHUTDOWN)

    def _end_without_them(self) -> None:
        """Handlers that take longer to clean up than there is time: what they were told to stop for holds all the same,
        or a job of such a one would come back at no cost of an attempt, at each tick."""
        lanes = {lane.queue: lane for lane in self._lanes}
        for run in [run for run in self._executor.runs.values() if run.task is not None and not run.task.done()]:
            self._end(lanes[run.queue], run, ending_of_stopped(run, asyncio.CancelledError()))
            self._left.add(run.job.id)

    def _end(self, lane: Lane, run: Run, ending: Ending) -> None:
        if run.job.id in self._left:
            return  # whatever its handler has come to
        # of what never began nothing has become
        if run.begun:
            self._ended.append((run, ending, time.monotonic() - run.claimed_at))
        self._completer.add(lane, run, ending)

    def _cancel(self, id: UUID) -> None:
        self._executor.cancel(id)

    async def _result(self, run: Run, ending: Ending, seconds: float) -> TickResult:
        job = await self._engine.arun(commands.GetJob(run.job.id))
        if job is None:  # a queue that keeps only failures
            return TickResult(run.job.id, run.job.kind, JobState.SUCCEEDED, run.job.attempt, seconds)
        error = job.parked_reason or job.last_error
        match ending:
            case Released():
                error = "given back: the tick's budget was over soon after it began"
            case Succeeded() | Snoozed() | NothingToReport() if job.state is not JobState.FAILED:
                error = None  # those on record are of earlier attempts
        return TickResult(job.id, job.kind, job.state, run.job.attempt, seconds, error)


def _was_given_back(job: ClaimedJob) -> bool:
    """Whether a run of it was ended before at no cost of an attempt, which must not go on for ever. One that ended
    itself to wait was not."""
    ended = job.claims - job.attempt - job.snoozes
    if ended > 0 and job.options is not None:
        ended -= loads_anyway(job.options).get("waits", 0)
    return ended > 0


async def tick(
    engine: Engine, registry: Registry, *, limit: int, budget: float, queues: Mapping[str, int] | None
) -> list[TickResult]:
    """Runs up to `limit` jobs for about `budget` seconds; what became of each."""
    if not isinstance(limit, int) or limit < 1:
        raise InvalidInput("limit", f"must be at least 1, not {limit!r}")
    if not isinstance(budget, int | float) or not 0 < budget < 1e6:
        raise InvalidInput("budget", f"must be a positive number of seconds, not {budget!r}")
    if queues is None:
        queues = dict.fromkeys(sorted({handler.options.queue for handler in registry.handlers.values()}), SLOTS)
    check_slots(queues)
    check_needs(engine, registry)
    return await Tick(engine, registry, queues).run(limit, budget)
