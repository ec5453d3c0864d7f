"""Jobs that wait for nothing run one after another in one task, and nobody notices but the clock. No database here."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from types import SimpleNamespace
from typing import Any, cast
from uuid import UUID

import pytest

from penstock.job import ClaimedJob, Lease
from penstock.logs import current_job
from penstock.worker.calling import Calls
from penstock.worker.ending import NOTHING, Cancelled, Ending
from penstock.worker.executor import Executor
from penstock.worker.run import Lane, Run, Stop
from tests.kit.until import soon

SLOTS = 5


class Call:
    timeout = None
    retry = None

    def __init__(self, handler: Callable[[Run], Awaitable[None]]) -> None:
        self._handler = handler

    async def __call__(self, run: Run, /) -> Ending:
        await self._handler(run)
        return NOTHING


class Bench:
    """An executor that has found out that its handlers wait for nothing."""

    def __init__(self) -> None:
        self.lane = Lane("default", SLOTS)
        self.ended: list[tuple[int, Ending]] = []
        self.tasks: dict[int, asyncio.Task[Any] | None] = {}
        self.singles: dict[str, Call] = {"note": Call(self._note)}
        calls = cast(Calls, SimpleNamespace(batches={}, singles=self.singles))
        self.executor = Executor(calls, self._end)
        self._all = asyncio.Event()
        self._wanted = 0

    async def _note(self, run: Run) -> None:
        self.tasks[run.job.id.int] = asyncio.current_task()

    def _end(self, lane: Lane, run: Run, ending: Ending) -> None:
        self.ended.append((run.job.id.int, ending))
        if len(self.ended) == self._wanted:
            self._all.set()

    def take(self, kind: str, *numbers: int) -> None:
        self.executor.take(self.lane, Lease(1), [claimed(kind, number) for number in numbers])

    async def ends(self, count: int) -> None:
        """Until so many have ended."""
        self._wanted = count
        if len(self.ended) < count:
            self._all.clear()
            await soon(self._all.wait())


def claimed(kind: str, number: int) -> ClaimedJob:
    now = datetime.now(UTC)
    return ClaimedJob(UUID(int=number), kind, 0, number, 1, 5, 1, 0, None, None, None, now, "{}", None)


@asynccontextmanager
async def going_on() -> AsyncIterator[Bench]:
    bench = Bench()
    bench.lane.waits = False
    yield bench
    assert bench.lane.running == 0
    assert not bench.lane.goes_on


async def test_jobs_that_wait_for_nothing_share_a_task_and_come_in_order() -> None:
    async with going_on() as bench:
        bench.take("note", *range(1, 21))
        await bench.ends(20)
    assert [number for number, _ in bench.ended] == list(range(1, 21))
    # a slow machine may need a second stretch
    assert len(set(bench.tasks.values())) < 20


async def test_one_that_waits_keeps_nobody_from_a_slot() -> None:
    started: list[int] = []
    all_started, go = asyncio.Event(), asyncio.Event()

    async def wait(run: Run) -> None:
        started.append(run.job.id.int)
        if len(started) == SLOTS:
            all_started.set()
        await go.wait()
        assert current_job.get() is run.job

    async with going_on() as bench:
        bench.singles["wait"] = Call(wait)
        bench.take("wait", *range(1, 21))
        await soon(all_started.wait())
        assert bench.lane.running == SLOTS
        go.set()
        await bench.ends(20)
    assert sorted(started) == list(range(1, 21))


async def test_a_task_that_a_handler_cancelled_runs_no_other_job() -> None:
    async def cancel_itself(run: Run) -> None:
        task = asyncio.current_task()
        assert task is not None
        task.cancel()

    async def look(run: Run) -> None:
        await asyncio.sleep(0)

    async with going_on() as bench:
        bench.singles |= {"cancel": Call(cancel_itself), "look": Call(look)}
        bench.take("cancel", 1)
        bench.take("look", 2)
        await bench.ends(2)
    assert bench.ended == [(1, NOTHING), (2, NOTHING)]


async def test_stopping_one_that_has_ended_stops_no_other_in_its_task() -> None:
    waiting, go = asyncio.Event(), asyncio.Event()

    async def wait(run: Run) -> None:
        waiting.set()
        await go.wait()

    async with going_on() as bench:
        bench.singles["wait"] = Call(wait)
        bench.take("note", 1)
        bench.take("wait", 2)
        await soon(waiting.wait())
        ended, running = bench.executor.runs[1], bench.executor.runs[2]
        assert ended.begun
        assert running.begun
        ended.stop_for(Stop.CANCELLED)
        assert not running.task or not running.task.cancelling()
        go.set()
        await bench.ends(2)
    assert bench.ended == [(1, NOTHING), (2, NOTHING)]


@pytest.mark.parametrize("swallowed", [False, True])
async def test_one_that_waits_is_stopped_wherever_it_runs(swallowed: bool) -> None:
    waiting = asyncio.Event()

    async def wait(run: Run) -> None:
        waiting.set()
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            if not swallowed:
                raise

    async with going_on() as bench:
        bench.singles["wait"] = Call(wait)
        bench.take("wait", 1)
        bench.take("note", 2)
        await soon(waiting.wait())
        bench.executor.cancel(UUID(int=1))
        await bench.ends(2)
    assert dict(bench.ended)[1] == (NOTHING if swallowed else Cancelled("cancelled"))
    assert dict(bench.ended)[2] == NOTHING


def test_what_is_being_reported_keeps_no_claim_waiting_where_jobs_are_claimed_ahead() -> None:
    lane = Lane("default", 10)
    lane.ended(0.000_01)  # so short that many are claimed at once
    lane.running = 0
    while lane.wanted() < 1000:
        lane.claimed(lane.wanted(), lane.wanted())
    target = lane.wanted()
    lane.in_hand = lane.reporting = target
    assert lane.wanted() == target
    lane.reporting = 0
    assert lane.wanted() == 0


def test_where_there_is_one_for_each_slot_the_next_is_claimed_when_the_last_was_reported() -> None:
    lane = Lane("default", 10)
    lane.in_hand, lane.reporting = 10, 3
    assert lane.wanted() == 0
    lane.in_hand, lane.reporting = 7, 0
    assert lane.wanted() == 3
