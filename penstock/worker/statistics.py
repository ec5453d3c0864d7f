"""Counts how runs end and how long they take, and hands that over now and then, for charts and lists of errors."""

import asyncio
import logging
import random
import time
from collections.abc import Callable, Sequence
from uuid import UUID

import msgspec

from penstock.engine.commands import AlikeErrors, EndedRuns, ReportStatistics
from penstock.engine.loop import Loop
from penstock.engine.protocol import Engine
from penstock.errors import NotMigrated, PenstockError
from penstock.job import Lease
from penstock.worker.alike import alike
from penstock.worker.ending import Ending, Failed, Succeeded, outcome_of
from penstock.worker.process_memory import resident_bytes
from penstock.worker.run import Lane, Run

log = logging.getLogger("penstock.worker")

EVERY = 10.0
"""Seconds between two reports of a worker that has something to say."""
FIRST_WITHIN = 60.0
"""An idle one says once how it is: not all of them in the same second, where fifty are started together."""

BUCKETS = 25
_MOST_ERRORS = 100
"""Of a report; others are counted together."""
_MOST_RUNS = 500
OTHERS = "other errors"
_COUNTED = ("succeeded", "failed", "retried", "cancelled")


class _Counts(msgspec.Struct):
    """Of a queue and kind since the last report."""

    succeeded: int = 0
    failed: int = 0
    retried: int = 0
    cancelled: int = 0
    waited_seconds: float = 0.0
    ran_seconds: float = 0.0
    waited: list[int] = msgspec.field(default_factory=lambda: [0] * BUCKETS)
    ran: list[int] = msgspec.field(default_factory=lambda: [0] * BUCKETS)


class _Errors(msgspec.Struct):
    queue: str
    type: str | None
    example: UUID
    attempts: int = 0
    jobs: int = 0


class RunCounts:
    """What has ended since it was last taken."""

    def __init__(self) -> None:
        self._counts: dict[str, dict[str, _Counts]] = {}
        self._errors: dict[tuple[str, str], _Errors] = {}

    def note(self, ended: Sequence[tuple[Lane, Run, Ending]]) -> None:
        """Runs whose ending was reported. Half a microsecond each: workers end tens of thousands a second."""
        offset = time.time() - time.monotonic()
        name = kind = created_at = counts = None
        created = 0.0
        for lane, run, ending in ended:
            job = run.job
            if counts is None or lane.queue != name or job.kind != kind:
                name, kind = lane.queue, job.kind
                counts = self._counts.setdefault(name, {}).setdefault(kind, _Counts())
            if run.lost:
                continue
            if type(ending) is Succeeded:
                counts.succeeded += 1
            elif not self._note_other(lane.queue, counts, run, ending):
                continue
            ran = run.ran
            counts.ran_seconds += ran
            place = int(ran * 1000).bit_length()
            counts.ran[place if place < BUCKETS else -1] += 1
            if job.claims == 1:
                # as a number it takes a third of all this, and whoever comes by the thousand was enqueued together
                if job.created_at != created_at:
                    created_at = job.created_at
                    created = created_at.timestamp()
                waited = run.started + offset - created
                if waited > 0:  # clocks differ
                    counts.waited_seconds += waited
                    place = int(waited * 1000).bit_length()
                    counts.waited[place if place < BUCKETS else -1] += 1
                else:
                    counts.waited[0] += 1

    def _note_other(self, queue: str, counts: _Counts, run: Run, ending: Ending) -> bool:
        """Whether it was a run of any length."""
        outcome = outcome_of(run, ending)
        if outcome not in _COUNTED:
            return False
        setattr(counts, outcome, getattr(counts, outcome) + 1)
        given_up = outcome == "failed"
        if isinstance(ending, Failed):
            self._note_error(queue, run, ending.error.error, ending.error.type, given_up)
        elif given_up:
            self._note_error(queue, run, "given up: it was put off for too long", None, True)
        return run.begun

    def _note_error(self, queue: str, run: Run, message: str, type: str | None, given_up: bool) -> None:
        key = run.job.kind, alike(message)
        errors = self._errors.get(key)
        if errors is None:
            if len(self._errors) >= _MOST_ERRORS:
                key, type = (run.job.kind, OTHERS), None
            errors = self._errors.setdefault(key, _Errors(queue, type, run.job.id))
        errors.example = run.job.id
        errors.attempts += 1
        errors.jobs += given_up

    def take(self) -> tuple[list[EndedRuns], list[AlikeErrors]]:
        """All of it; from here on it is counted anew."""
        counts, self._counts = self._counts, {}
        errors, self._errors = self._errors, {}
        runs = [_ended(queue, kind, each) for queue, kinds in counts.items() for kind, each in kinds.items()]
        told = [
            AlikeErrors(kind, each.queue, message, each.attempts, each.jobs, each.example, each.type)
            for (kind, message), each in errors.items()
        ]
        return [run for run in runs if run is not None][:_MOST_RUNS], told


def _ended(queue: str, kind: str, counts: _Counts) -> EndedRuns | None:
    if not (counts.succeeded or counts.failed or counts.retried or counts.cancelled):
        return None
    return EndedRuns(
        queue, kind, counts.succeeded, counts.failed, counts.retried, counts.cancelled, _trimmed(counts.waited),
        _trimmed(counts.ran), round(counts.waited_seconds, 6), round(counts.ran_seconds, 6),
    )  # fmt: skip


def _trimmed(buckets: list[int]) -> list[int]:
    """Without the empty ones at the end."""
    last = max((place for place, count in enumerate(buckets) if count), default=-1)
    return buckets[: last + 1]


class StatisticsReport(Loop):
    """While there is something to say; an idle worker is silent."""

    name = "statistics"

    def __init__(
        self, engine: Engine, statistics: RunCounts, lease: Callable[[], Lease], busy: Callable[[], bool], slots: int
    ) -> None:
        super().__init__(engine.faults)
        self._engine = engine
        self._statistics = statistics
        self._lease = lease
        self._busy = busy
        self._slots = slots
        self._was_active = False
        self._spent = (time.monotonic(), time.process_time())
        self._understood = True

    async def run(self) -> None:
        first_at = time.monotonic() + random.uniform(EVERY, FIRST_WITHIN)  # noqa: S311 (a pause, not a secret)
        told = False
        while self._understood:
            await asyncio.sleep(EVERY)
            told = await self.report(anyway=not told and time.monotonic() > first_at) or told

    async def report(self, *, anyway: bool = False) -> bool:
        """Says what there is to say, and how the worker is; whether it said anything. Once more after it became idle,
        so that its load does not stay what it was."""
        runs, errors = self._statistics.take()
        active = bool(runs or errors or self._busy())
        if not (active or self._was_active or anyway) or not self._understood:
            return False
        command = ReportStatistics(
            self._lease(), runs, errors, memory=resident_bytes(), load=self._load(), slots=self._slots
        )
        try:
            await self._engine.arun(command)
        except NotMigrated:
            log.info("no statistics are kept: the schema is older than this worker, run `penstock migrate`")
            self._understood = False
        except PenstockError as error:
            log.debug("a report of statistics is lost: %s", error)
        self._was_active = active
        return True

    def _load(self) -> float:
        """Of one processor, since the last time."""
        then, spent = self._spent
        self._spent = now, used = time.monotonic(), time.process_time()
        return round(max(0.0, used - spent) / max(now - then, 1e-3), 4)
