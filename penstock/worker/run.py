"""A job in a worker's hands, from its claim until its outcome is accepted."""

import asyncio
from enum import StrEnum
from typing import Any

import msgspec

from penstock.context import JobContext
from penstock.engine.commands import Progress, Reported
from penstock.job import ClaimedJob, JobState, Lease


class Stop(StrEnum):
    """Why a handler is told to stop before it ends by itself."""

    CANCELLED = "somebody cancelled the job"
    LOST = "the lease is gone"
    SHUTDOWN = "the worker shuts down"
    BUDGET = "the time that a tick had for it is over"


class Run(msgspec.Struct, eq=False):
    """Mutable, and a msgspec struct because tens of thousands a second are made."""

    job: ClaimedJob
    lease: Lease
    claimed_at: float
    task: asyncio.Task[None] | None = None
    context: JobContext | None = None
    begun: bool = False
    started: float = 0.0
    """When its slot was free, on the clock of `claimed_at`."""
    stop: Stop | None = None
    cooperative: bool = False
    """Runs where nobody can interrupt it (a thread), or together with others: it is asked to stop, not made to."""
    unwritten: dict[str, Any] | None = None
    """The progress it reported that is not written yet."""
    written: asyncio.Event | None = None
    """While a report of it is on its way to the database: set when that has arrived."""
    reported: bool = False
    ran: float = 0.0
    """Seconds that its handler took."""
    became: JobState | None = None
    """What the engine made of it, where it did not succeed."""

    def reported_progress(self) -> Reported:
        """What it reported, to be written."""
        return Reported(self.job.id, self.job.claims, Progress(**self.unwritten or {}))

    def stop_for(self, reason: Stop) -> None:
        """Tells the handler to stop. The first reason counts, but a thread that is only asked may yet be given up."""
        if self.stop is not None and not (self.cooperative and self.stop is Stop.CANCELLED):
            return
        already_asked = self.stop is reason
        self.stop = reason
        if self.context is not None:
            if reason is Stop.LOST:
                self.context.lose()
            else:
                self.context.cancel()
        interruptible = not (self.cooperative and reason is Stop.CANCELLED)
        # a task cancelled before its first step would never get to say how it ended
        if self.task is not None and self.begun and interruptible and not already_asked:
            self.task.cancel()
