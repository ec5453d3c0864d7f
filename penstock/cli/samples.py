"""What `penstock top` sees when it looks, and what follows from several: values, nothing of a terminal."""

import time
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta

from penstock.app import Penstock
from penstock.engine import commands
from penstock.engine.commands import LiveWorker, Queue
from penstock.statistics import Runs

WINDOW = 10.0
"""Seconds over which a rate is taken."""


@dataclass(frozen=True, slots=True)
class Sample:
    """`at` is by a clock that only goes forward; `runs` and `failures` count since the beginning."""

    at: float
    queues: Sequence[Queue]
    workers: Sequence[LiveWorker]
    runs: int
    failures: int
    took: float
    """Seconds that it took to find out."""
    last_minute: Runs | None = None
    """The last whole one that workers have reported."""

    @property
    def ready(self) -> int:
        return sum(queue.ready for queue in self.queues)

    @property
    def running(self) -> int:
        return sum(queue.running for queue in self.queues)


COUNTED = 10_000
"""Jobs of a queue, at most: a million of them, counted every second, would be work for the database."""


def take_sample(app: Penstock) -> Sample:
    """Four small questions: queues, workers with what they run, totals by kind, and what was reported of late."""
    began = time.monotonic()
    workers = app.workers.list()
    queues = commands.with_served(app.queues.list(most=COUNTED), workers)
    totals = app.engine.run(commands.Totals())
    minutes = app.statistics.series(since=timedelta(minutes=2)) if app.engine.capabilities.statistics else []
    now = time.monotonic()
    runs, failures = sum(each.runs for each in totals), sum(each.failures for each in totals)
    return Sample(now, queues, workers, runs, failures, now - began, minutes[-2] if len(minutes) > 1 else None)


@dataclass(frozen=True, slots=True)
class Rates:
    """A second; None before there were two samples."""

    runs: float | None
    failures: float | None


class Samples:
    """The last ones, as far as rates need them."""

    def __init__(self) -> None:
        self._kept: deque[Sample] = deque()
        self.speeds: deque[float] = deque(maxlen=60)
        """Runs a second between one sample and the next, the latest last."""

    def add(self, sample: Sample) -> None:
        if self._kept and sample.at > self._kept[-1].at:
            self.speeds.append(max(0, sample.runs - self._kept[-1].runs) / (sample.at - self._kept[-1].at))
        self._kept.append(sample)
        while len(self._kept) > 2 and sample.at - self._kept[1].at >= WINDOW:
            self._kept.popleft()

    @property
    def latest(self) -> Sample:
        return self._kept[-1]

    @property
    def rates(self) -> Rates:
        if len(self._kept) < 2:
            return Rates(None, None)
        first, last = self._kept[0], self._kept[-1]
        seconds = last.at - first.at
        # counters go back when history is dropped
        return Rates(max(0, last.runs - first.runs) / seconds, max(0, last.failures - first.failures) / seconds)
