"""The queues of the state machine, and which ready jobs their limits let start."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any

from penstock.job import JobState
from tests.engine.machine.model import Model, Row

PERIOD = 10.0


@dataclass
class Lane:
    name: str
    max_running: int | None = None
    max_running_per_key: int | None = None
    rate: int | None = None
    rate_per_key: int | None = None
    fair_by: str | None = None
    paused: bool = False
    starts: list[tuple[datetime, str | None]] = field(default_factory=list)

    @property
    def settings(self) -> dict[str, Any]:
        return {
            "max_running": self.max_running,
            "max_running_per_key": self.max_running_per_key,
            "rate": self.rate,
            "rate_per_key": self.rate_per_key,
            "rate_period": PERIOD,
            "fair_by": self.fair_by,
            "paused": self.paused,
        }

    def ready(self, model: Model, kinds: Sequence[str] | None = None) -> list[Row]:
        """What waits here, best first."""
        waiting = [
            row
            for row in model.by_state(JobState.READY)
            if row.queue == self.name and (kinds is None or row.job.kind in kinds)
        ]
        return sorted(waiting, key=lambda row: (-row.job.priority, row.place))

    def fitting(self, model: Model, limit: int, kinds: Sequence[str] | None, window: float) -> list[Row]:
        """What a claim may start, when starts count towards the rates for `window` seconds."""
        if self.paused:
            return []
        recent = [key for at, key in self.starts if at > model.now - timedelta(seconds=window)]
        running = [row for row in model.by_state(JobState.RUNNING) if row.queue == self.name]
        free = limit
        if self.max_running is not None:
            free = min(free, self.max_running - len(running))
        if self.rate is not None:
            free = min(free, self.rate - len(recent))
        started: Counter[str | None] = Counter(recent)
        held = Counter(row.job.limit_key for row in running)
        fitting: list[Row] = []
        for row in self.ready(model, kinds):
            key = row.job.limit_key
            if len(fitting) >= free:
                break
            if key is not None and (
                (self.max_running_per_key is not None and held[key] >= self.max_running_per_key)
                or (self.rate_per_key is not None and started[key] >= self.rate_per_key)
            ):
                continue
            fitting.append(row)
            held[key] += 1
            started[key] += 1
        return fitting

    def start(self, model: Model, rows: Sequence[Row]) -> None:
        self.starts += [(model.now, row.job.limit_key) for row in rows]


def lanes() -> dict[str, Lane]:
    each = (
        Lane("open"),
        Lane("narrow", max_running=2),
        Lane("keyed", max_running=3, max_running_per_key=1),
        Lane("rated", rate=3, rate_per_key=2),
        Lane("fair", fair_by="limit_key"),
    )
    return {lane.name: lane for lane in each}
