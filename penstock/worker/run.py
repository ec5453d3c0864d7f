"""A job in a worker's hands, from its claim until its outcome is accepted: a run of it, and the lane of its queue."""

import asyncio
import time
from collections import deque
from collections.abc import Mapping
from enum import StrEnum
from typing import Any

import msgspec

from penstock.context import JobContext
from penstock.engine import Cursor
from penstock.engine.commands import Progress, Reported
from penstock.errors import InvalidInput
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
    queue: str
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
    refused: bool = False
    """Reported too late: the job was no longer its own."""
    lost: bool = False
    """Refused, and not because it had been reported before without an answer."""
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


SOON = 0.1
"""Seconds of work to have in hand. More would keep jobs from workers that are free, less would leave slots empty
while the next claim is under way."""

MOST_IN_HAND = 2000
_SMOOTHING = 0.05
_TOO_SHORT_TO_WAIT = 0.000_05
"""Seconds that a handler takes which has waited for nothing, or next to nothing."""


def check_slots(queues: Mapping[str, int]) -> None:
    for queue, slots in queues.items():
        if not queue or not isinstance(slots, int) or slots < 1:
            raise InvalidInput("queues", f"each needs a name and at least one slot, not {queue!r}: {slots!r}")


class Lane:
    """A queue as one worker sees it: its slots, and the jobs in hand for them."""

    def __init__(self, queue: str, slots: int, batch: int = 1) -> None:
        self.queue = queue
        self.slots = slots
        self.cursor = Cursor()
        self.waiting: deque[Run] = deque()
        self.running = 0
        self.in_hand = 0
        self.reporting = 0
        """Of those in hand: how many have ended and are on their way to the engine."""
        self.waits = True
        """Whether its handlers wait for anything, as far as the last one shows."""
        self.goes_on = False
        """While a task runs its jobs one after another."""
        self._least = slots * batch
        self._target = self._least
        self._seconds: float | None = None
        self._shrunk_at = 0.0
        # where the claimer is with it
        self.look_at = 0.0
        self.pause = 0.0
        self.rate_pause: float | None = None
        self.registered: object = None
        self.busy_since: float | None = None

    @property
    def full(self) -> bool:
        return self.running >= self.slots

    def wanted(self) -> int:
        """How many jobs to claim: none while what is in hand keeps the slots busy for a while."""
        if self._target > self._least:
            self._target = min(self._target, self._ceiling())
        ahead = self._target > self._least
        # What is being reported needs no slot any more, and the next claim need not wait for it: a drain of no-op jobs
        # went from 18.6 to 13.7 µs a job. One for each slot waits: the limits of its queue may be full until then.
        held = self.in_hand - self.reporting if ahead else self.in_hand
        room = self._target - held
        if ahead and held > self._least and room < self._target // 4:
            return 0
        return max(0, room)

    def claimed(self, got: int, wanted: int) -> None:
        """Takes note of a claim: more at once the next time, if slots stood empty although the queue had more."""
        if got == wanted and not self.full and not self.waiting:
            self._target = min(2 * self._target, self._ceiling())

    def started(self, run: Run) -> None:
        self.running += 1
        now = run.started = time.monotonic()
        if now - run.claimed_at > SOON and now - self._shrunk_at > SOON:
            self._shrunk_at = now
            self._target = max(self._least, self._target // 2)

    def ended(self, seconds: float) -> None:
        """A handler took so long."""
        self.running -= 1
        if seconds < _TOO_SHORT_TO_WAIT:
            self.waits = False
        before = self._seconds
        self._seconds = seconds if before is None else before + _SMOOTHING * (seconds - before)

    @property
    def seconds(self) -> float | None:
        """How long its handlers take, on average; None until one has ended."""
        return self._seconds

    def _ceiling(self) -> int:
        """What could be worked off soon if every slot were busy: for slow jobs just the slots themselves."""
        if self._seconds is None:
            return self._least
        soon = self._least * SOON / max(self._seconds, 1e-6)
        return max(self._least, min(MOST_IN_HAND, int(soon)))
