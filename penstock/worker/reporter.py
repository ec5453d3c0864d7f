"""Writes progress a few times a second at most, for all jobs that reported any in one statement."""

import asyncio
from collections import defaultdict
from collections.abc import Callable
from typing import Any
from uuid import UUID

from penstock.engine import commands
from penstock.engine.loop import Loop
from penstock.engine.protocol import Engine
from penstock.job import Lease
from penstock.worker.run import Run

EVERY = 0.2


class Reporter(Loop):
    name = "progress"

    def __init__(self, engine: Engine, cancel: Callable[[UUID], None]) -> None:
        super().__init__(engine.faults)
        self._engine = engine
        self._cancel = cancel
        self._reporting: dict[UUID, Run] = {}
        self._something = asyncio.Event()

    def note(self, run: Run, report: dict[str, Any]) -> None:
        """The latest report; what an earlier one said and this one does not still holds."""
        run.unwritten = {**run.unwritten, **report} if run.unwritten else report
        self._reporting[run.job.id] = run
        self._something.set()

    async def run(self) -> None:
        while True:
            await self._something.wait()
            self._something.clear()
            await self._write()
            await asyncio.sleep(EVERY)

    async def _write(self) -> None:
        by_lease: dict[Lease, list[Run]] = defaultdict(list)
        for run in self._reporting.values():
            if run.unwritten and not run.reported:
                by_lease[run.lease].append(run)
        # dropped only when written: a report that came meanwhile is a new one, and noted again
        self._reporting.clear()
        for lease, runs in by_lease.items():
            reports = [run.unwritten or {} for run in runs]
            sent = [run.reported_progress() for run in runs]
            written = asyncio.Event()
            for run in runs:
                # should it end meanwhile: its last report must not be overtaken by this one
                run.written = written
            try:
                told = await self._engine.arun(commands.ReportProgress(lease, sent))
            finally:
                written.set()
                for run in runs:
                    run.written = None
            for run, report in zip(runs, reports, strict=True):
                if run.unwritten is report:
                    run.unwritten = None
            for each in told:
                if each.cancel_requested:
                    self._cancel(each.id)
