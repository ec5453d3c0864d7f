"""Runs claimed jobs in the slots of their queue, and hands each ending to the completer."""

import asyncio
import contextvars
import time
import types
from collections.abc import Callable, Coroutine, Generator, Sequence
from typing import Any
from uuid import UUID

import msgspec

from penstock.engine.faults import answering_within
from penstock.job import ClaimedJob, Lease
from penstock.json import clean
from penstock.logs import current_job
from penstock.worker.calling import BatchCall, Calls
from penstock.worker.ending import (
    Ending,
    NothingToReport,
    Parked,
    Released,
    ending_of_raised,
    ending_of_stopped,
    timed_out,
)
from penstock.worker.run import Lane, Run, Stop

_AT_A_STRETCH = 0.001
"""Seconds in which handlers that wait for nothing run one after another, before anybody else has a turn."""


class Executor:
    """Not a loop: it acts when jobs come and when they end."""

    def __init__(self, calls: Calls, end: Callable[[Lane, Run, Ending], None]) -> None:
        self._calls = calls
        self._end = end
        self.runs: dict[int, Run] = {}
        """Every job in hand: waiting for a slot, running, or ended and not yet reported. By the id's number, because
        the hash of a UUID itself is Python: half a microsecond a job."""
        self._refused: set[tuple[int, int, Lease]] = set()
        """Claims of the lease's whose outcome was refused. Made again, because Postgres failed over and forgot it, such
        a claim could not be told from the first: what is still on its way about that one would be believed."""
        self.stopping = False
        self._lanes: set[Lane] = set()
        # A task started where another ends would inherit what that one's handler has set. While the database is away a
        # handler waits, as its worker does: an error would cost the job an attempt.
        with answering_within(None):
            self._context = contextvars.copy_context()

    def take(self, lane: Lane, lease: Lease, jobs: Sequence[ClaimedJob]) -> None:
        """Takes jobs that were claimed and starts as many as there are slots."""
        self._lanes.add(lane)
        now = time.monotonic()
        for job in jobs:
            number = job.id.int
            if number in self.runs and self._has(number, lease, job):
                continue
            if self._refused and (number, job.claims, lease) in self._refused:
                self.refuse(lane, lease, job)  # the next claim has a number of its own
                continue
            run = self.runs[number] = Run(job, lease, now, lane.queue)
            lane.waiting.append(run)
            lane.in_hand += 1
        self._fill(lane)

    def refuse(self, lane: Lane, lease: Lease, job: ClaimedJob) -> None:
        """Gives a job back at once."""
        run = self.runs[job.id.int] = Run(job, lease, time.monotonic(), lane.queue)
        lane.in_hand += 1
        self._end(lane, run, Released())

    def _has(self, number: int, lease: Lease, job: ClaimedJob) -> bool:
        """Whether this very claim is in hand: Postgres crashed and forgot it, and now it was made again."""
        run = self.runs[number]
        return run.lease == lease and run.job.claims == job.claims

    def _fill(self, lane: Lane) -> None:
        """Starts what there are slots for: a task for each job, or, while handlers end without having waited for
        anything, one task for all of them. A task takes 3 of the 9 µs that a job without work costs."""
        if lane.goes_on or not lane.waiting or lane.running >= lane.slots:
            return
        create_task = asyncio.get_running_loop().create_task
        if not lane.waits:
            lane.goes_on = True
            create_task(self._go_on(lane), context=self._context.copy())
            return
        while lane.waiting and lane.running < lane.slots:
            run = lane.waiting.popleft()
            lane.started(run)
            batch = self._calls.batches.get(run.job.kind)
            if batch is None:
                run.task = create_task(self._perform_alone(lane, run), context=self._context.copy())
            else:
                self._start_batch(lane, batch, run)

    def _start_batch(self, lane: Lane, batch: BatchCall, first: Run) -> None:
        runs = [first, *_take_alike(lane, first, batch.size - 1)]
        task = asyncio.get_running_loop().create_task(
            self._perform_batch(lane, batch, runs), context=self._context.copy()
        )
        for each in runs:
            each.task, each.started = task, first.started

    async def _go_on(self, lane: Lane) -> None:
        """Runs one job after another for a moment. From the first that waits on the task is that job's alone: others
        go on in another."""
        task = asyncio.current_task()
        until = time.monotonic() + _AT_A_STRETCH
        waited = False

        def waits() -> None:
            nonlocal waited
            waited = lane.waits = True
            lane.goes_on = False
            self._fill(lane)

        try:
            while lane.waiting and lane.running < lane.slots and not self.stopping:
                run = lane.waiting.popleft()
                lane.started(run)
                batch = self._calls.batches.get(run.job.kind)
                if batch is not None:
                    self._start_batch(lane, batch, run)
                    continue
                run.task = task
                await _within(self._context.copy(), self._perform(lane, run), waits)
                # whoever wants to stop it from here on must not stop another
                run.task = None
                # a handler may have cancelled its own task: the next would get that
                if waited or run.started > until or (task is not None and task.cancelling()):
                    break
        finally:
            if not waited:
                lane.goes_on = False
        if lane.waiting and not self.stopping:
            self._fill(lane)

    async def _perform_alone(self, lane: Lane, run: Run) -> None:
        await self._perform(lane, run)
        if lane.waiting and not self.stopping:
            self._fill(lane)

    async def _perform(self, lane: Lane, run: Run) -> None:
        """Runs one job to its ending."""
        started = time.perf_counter()
        run.begun = True
        job = run.job
        current_job.set(job)
        limit = retry = None
        ending: Ending
        try:
            if run.stop is not None:
                raise asyncio.CancelledError
            call = self._calls.singles.get(job.kind)
            if call is None:
                ending = Parked(clean(f"this worker has no handler of kind {job.kind!r}"))
            else:
                retry = call.retry
                seconds = call.timeout if job.options is None else _timeout(job.options) or call.timeout
                if seconds is None:
                    ending = await call(run)
                else:
                    async with asyncio.timeout(seconds) as limit:
                        ending = await call(run)
        except asyncio.CancelledError as error:
            ending = ending_of_stopped(run, error)
        except (KeyboardInterrupt, GeneratorExit):
            raise
        except BaseException as error:
            # whatever it is, the slot must not be lost with it
            expired = limit is not None and limit.expired()
            ending = timed_out(seconds, error, retry) if expired else ending_of_raised(error, retry)
        run.ran = time.perf_counter() - started
        lane.ended(run.ran)
        self._end(lane, run, ending)

    async def _perform_batch(self, lane: Lane, call: BatchCall, runs: list[Run]) -> None:
        started = time.perf_counter()
        endings: Sequence[Ending]
        stopped = [run for run in runs if run.stop is not None]
        running = [run for run in runs if run.stop is None]
        for run in running:
            run.begun = True
            # the others must not be stopped with it
            run.cooperative = len(running) > 1
        try:
            async with asyncio.timeout(call.timeout) as limit:
                endings = await call(running) if running else []
        except asyncio.CancelledError as error:
            endings = [ending_of_stopped(run, error) for run in running]
        except (KeyboardInterrupt, GeneratorExit):
            raise
        except BaseException as error:
            expired = limit.expired()
            ending = timed_out(call.timeout, error, call.retry) if expired else ending_of_raised(error, call.retry)
            endings = [ending] * len(running)
        ran = time.perf_counter() - started
        lane.ended(ran)
        for run, ending in zip(running, endings, strict=True):
            run.ran = ran
            self._end(lane, run, ending)
        for run in stopped:
            self._end(lane, run, ending_of_stopped(run, asyncio.CancelledError()))
        if lane.waiting and not self.stopping:
            self._fill(lane)

    def forget(self, lane: Lane, run: Run) -> None:
        """Its ending was reported."""
        lane.in_hand -= 1
        if run.refused:
            ours = {each for each in self._refused if each[2] == run.lease}
            self._refused = ours | {(run.job.id.int, run.job.claims, run.lease)}
        if self.runs.get(run.job.id.int) is run:
            del self.runs[run.job.id.int]

    def cancel(self, id: UUID) -> None:
        """Somebody wants the job stopped."""
        run = self.runs.get(id.int)
        if run is not None:
            run.stop_for(Stop.CANCELLED)
            if run.task is None:
                self._end_waiting(run)

    def _end_waiting(self, run: Run) -> None:
        for lane in self._lanes:
            if run in lane.waiting:
                lane.waiting.remove(run)
                self._end(lane, run, ending_of_stopped(run, asyncio.CancelledError()))

    def drop_waiting(self, lanes: Sequence[Lane], stop: Stop) -> None:
        """Ends what has not started yet: given back, or lost with its lease."""
        for lane in lanes:
            while lane.waiting:
                run = lane.waiting.popleft()
                self._end(lane, run, NothingToReport() if stop is Stop.LOST else Released())

    def stop_all(self, stop: Stop, lease: Lease | None = None) -> None:
        """Tells handlers to stop: all of them, or those of one lease."""
        for run in self.runs.values():
            if lease is None or run.lease == lease:
                run.stop_for(stop)

    async def finish(self, seconds: float | None) -> bool:
        """Waits for running handlers; whether all of them ended in time."""
        tasks = {run.task for run in self.runs.values() if run.task is not None and not run.task.done()}
        if not tasks:
            return True
        _, running = await asyncio.wait(tasks, timeout=seconds)
        return not running


@types.coroutine
def _within(
    context: contextvars.Context, coroutine: Coroutine[Any, Any, None], waits: Callable[[], None]
) -> Generator[Any, Any, None]:
    """Awaits a coroutine in a context of its own, and tells when it waits for the first time."""
    run = context.run
    try:
        wanted = run(coroutine.send, None)
        waits()
        while True:
            try:
                got = yield wanted
            except GeneratorExit:
                run(coroutine.close)
                raise
            except BaseException as error:
                wanted = run(coroutine.throw, error)
            else:
                wanted = run(coroutine.send, got)
    except StopIteration:
        return


def _take_alike(lane: Lane, first: Run, most: int) -> list[Run]:
    """Takes further waiting jobs of the same kind."""
    alike: list[Run] = []
    others: list[Run] = []
    while lane.waiting and len(alike) < most:
        run = lane.waiting.popleft()
        (alike if run.job.kind == first.job.kind else others).append(run)
    lane.waiting.extendleft(reversed(others))
    return alike


class _Options(msgspec.Struct):
    timeout: float | None = None


_decode_options = msgspec.json.Decoder(_Options).decode


def _timeout(options: str) -> float | None:
    try:
        return _decode_options(options).timeout
    except msgspec.MsgspecError:
        return None  # written by hand, in SQL
