"""Reports how runs ended: at once when idle, grouped when busy, again and again while the database is away."""

import asyncio
import logging
from collections import defaultdict
from collections.abc import Callable, Container, Hashable, Sequence
from typing import Any
from uuid import UUID

from penstock.engine import commands
from penstock.engine.commands import AttemptError, Became
from penstock.engine.loop import Loop
from penstock.engine.protocol import Engine
from penstock.job import JobState, Lease
from penstock.logs import counted
from penstock.outcome import Failure
from penstock.worker.ending import Ending, Failed, NothingToReport, Parked, Snoozed, group_of, report_of
from penstock.worker.failures import Failures, parking_log
from penstock.worker.observers import Observers
from penstock.worker.run import Lane, Run
from penstock.worker.statistics import RunCounts

log = logging.getLogger("penstock.worker")

MOST_AT_ONCE = 1000

Ended = tuple[Lane, Run, Ending]


class Completer(Loop):
    name = "completer"

    def __init__(
        self,
        engine: Engine,
        forget: Callable[[Lane, Run], None],
        look: Callable[[], None],
        may_be_due: Callable[[], None],
        failures: Failures,
        statistics: RunCounts,
        observers: Observers,
    ) -> None:
        super().__init__(engine.faults)
        self._engine = engine
        self._forget = forget
        self._look = look
        self._may_be_due = may_be_due
        self._failures = failures
        self._statistics = statistics
        self._observers = observers
        self._ended: list[Ended] = []
        self._reporting: list[Ended] = []
        self._times = 0
        """That this has been reported: after the first nobody knows what became of that."""
        self._something = asyncio.Event()
        self._nothing = asyncio.Event()
        self._nothing.set()

    def add(self, lane: Lane, run: Run, ending: Ending) -> None:
        if not self._ended:
            self._something.set()
            self._nothing.clear()
        self._ended.append((lane, run, ending))

    async def drained(self) -> None:
        """Waits until everything added so far is reported, and everybody told of it."""
        await self._nothing.wait()
        await self._failures.told()

    async def run(self) -> None:
        while True:
            if not self._reporting:
                await self._something.wait()
                self._reporting = self._ended[:MOST_AT_ONCE]
                del self._ended[:MOST_AT_ONCE]
                if not self._ended:
                    self._something.clear()
                for lane, _, _ in self._reporting:
                    lane.reporting += 1
                self._look()
            # kept until it is done: after a lost connection the same is reported again
            self._times += 1
            try:
                await self._report(self._reporting)
            except self._engine.faults.unstorable:
                await self._report_one_by_one(self._reporting)
            for lane, run, _ in self._reporting:
                lane.reporting -= 1
                self._forget(lane, run)
            self._statistics.note(self._reporting)
            if self._observers.hooks:
                self._observers.tell(self._reporting)
            self._reporting, self._times = [], 0
            self._look()
            if not self._ended:
                self._nothing.set()

    async def _report(self, ended: Sequence[Ended]) -> None:
        by_lease: dict[Lease, list[tuple[Run, Ending]]] = defaultdict(list)
        for _, run, ending in ended:
            if not run.reported:
                by_lease[run.lease].append((run, ending))
        for lease, runs in by_lease.items():
            for run, _ in runs:
                if run.written is not None:
                    await run.written.wait()
            await self._write_progress(
                lease, [run for run, ending in runs if run.unwritten and not isinstance(ending, NothingToReport)]
            )
            await self._report_on(lease, runs)

    async def _report_one_by_one(self, ended: Sequence[Ended]) -> None:
        """Something in there cannot be stored: that job fails, and the others do not with it."""
        for lane, run, ending in ended:
            try:
                await self._report([(lane, run, ending)])
            except self._engine.faults.unstorable as error:
                told = f"how it ended cannot be stored: {' '.join(str(error).split())}"
                run.unwritten = None
                await self._report([(lane, run, Failed(AttemptError(told, type(error).__name__, final=True)))])

    async def _report_on(self, lease: Lease, runs: Sequence[tuple[Run, Ending]]) -> None:
        groups: dict[Hashable, list[tuple[Run, Any]]] = defaultdict(list)
        for run, ending in runs:
            groups[group_of(ending)].append((run, ending))
        for ended in groups.values():
            await self._report_alike(lease, ended)

    async def _report_alike(self, lease: Lease, ended: Sequence[tuple[Run, Any]]) -> None:
        command = report_of(lease, ended)
        answer: Any = None if command is None else await self._engine.arun(command)
        match command:
            case None:
                self._warn([run.job.id for run, ending in ended if not ending.accepted])
                for run, ending in ended:
                    run.reported = True
                    run.refused = run.lost = not ending.accepted  # that is known, however often it is tried
            case commands.Complete():
                if self._times == 1:
                    self._warn(answer)
                self._done(ended, answer)
            case commands.StopCancelled() | commands.Release():
                for run, _ in ended:
                    run.reported = True
            case _:
                results: dict[UUID, Became] = {each.id: each for each in answer}
                # a retry may be due before anybody looks
                if any(each.run_at is not None for each in results.values()):
                    self._may_be_due()
                self._done(ended, [run.job.id for run, _ in ended if run.job.id not in results])
                for run, ending in ended:
                    self._tell(run, ending, results.get(run.job.id))

    def _tell(self, run: Run, ending: Ending, became: Became | None) -> None:
        run.became = None if became is None else became.state
        given_up = run.became is JobState.FAILED
        match ending:
            case Failed():
                self._failures.tell(run, ending, became)
            case Snoozed() if given_up:
                self._failures.tell_given_up(
                    Failure(run.job, "still not done after its last snooze", queue=run.queue, error_type="Snoozed")
                )
            case Parked() if given_up:
                why = f"no worker that knows it came in time: {ending.reason}"
                self._failures.tell_given_up(Failure(run.job, why, queue=run.queue, error_type="Parked"))
            case Parked():
                parking_log.note(run.job.id, run.job.kind, ending.reason)

    async def _write_progress(self, lease: Lease, runs: list[Run]) -> None:
        """The last report of a run must not be missing from its record."""
        if runs:
            await self._engine.arun(commands.ReportProgress(lease, [run.reported_progress() for run in runs]))
            for run in runs:
                run.unwritten = None

    def _done(self, runs: Sequence[tuple[Run, Any]], refused: Container[UUID]) -> None:
        for run, _ in runs:
            run.reported = True
            run.refused = run.job.id in refused
            run.lost = run.refused and self._times == 1

    def _warn(self, refused: Sequence[Any]) -> None:
        if refused:
            ids = ", ".join(str(id) for id in refused[:5])
            told = counted(len(refused), "outcome was", "outcomes were")
            log.warning("%s refused, no longer this worker's: %s", told, ids)
