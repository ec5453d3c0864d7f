"""What `make bench` has found: raw figures by round, work and system; their medians and spread; and the goals."""

import json
import os
import statistics
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from bench.field_work import PRODUCERS, Figures, Work
from bench.systems import FIELD, System


@dataclass(frozen=True)
class Column:
    name: str
    label: str
    work: str
    figure: str
    form: str = ",.0f"


SPEED = (
    Column("one_by_one", "one by one, jobs/s", "one_by_one", "rate"),
    Column("bulk", "in bulk, jobs/s", "drain", "bulk_rate"),
    Column("drain", "drain, jobs/s", "drain", "rate"),
    Column("drain2", "by two", "drain2", "rate"),
    Column("at_once", f"{PRODUCERS} producers + worker, jobs/s", "at_once", "rate"),
    Column("idle_p50", "idle p50, ms", "idle", "p50_ms", ".1f"),
    Column("idle_p99", "idle p99, ms", "idle", "p99_ms", ".1f"),
)
COSTS = (
    Column("drain_1k", "drain, 1 KB", "drain_1k", "rate"),
    Column("drain_10k", "drain, 10 KB", "drain_10k", "rate"),
    Column("held", "drain, snapshot held", "held", "rate"),
    Column("worker_us", "CPU µs: worker", "drain", "worker_us"),
    Column("server_us", "server", "drain", "server_us"),
    Column("enqueue_us", "server, enqueue", "drain", "server_enqueue_us"),
    Column("wal", "WAL B", "drain", "wal"),
    Column("wal_1k", "1 KB", "drain_1k", "wal"),
    Column("wal_10k", "10 KB", "drain_10k", "wal"),
)


@dataclass
class Results:
    """The file of a run: written after each measurement, so that one that was stopped goes on where it was."""

    plan: dict[str, Any]
    """What makes two runs comparable: only one of the same plan is gone on with."""
    machine: dict[str, Any] = field(default_factory=dict)
    unavailable: dict[str, str] = field(default_factory=dict)
    pace: dict[str, dict[str, float]] = field(default_factory=dict)
    rounds: list[dict[str, dict[str, Figures]]] = field(default_factory=list)

    @classmethod
    def read(cls, file: Path, plan: dict[str, Any]) -> "Results":
        """What is in the file, if it is of this plan."""
        found = json.loads(file.read_text()) if file.exists() else {}
        if found.get("plan") != plan:
            return cls(plan, rounds=[{} for _ in range(plan["rounds"])])
        return cls(plan, found["machine"], found["unavailable"], found["pace"], found["rounds"])

    def forget(self, system: System) -> None:
        self.pace.pop(system.name, None)
        for works in self.rounds:
            for of_work in works.values():
                of_work.pop(system.name, None)

    def lacks(self, n: int, work: Work, system: System) -> bool:
        """Whether this is still to be measured, or to be tried again."""
        if not work.is_for(system) or system.name in self.unavailable:
            return False
        return "rate" not in (found := self.figures(n, work.name, system.name)) and "p50_ms" not in found

    def untried(self, n: int, work: Work, system: System) -> bool:
        """Whether nothing is known of it, not even that it fails."""
        return self.lacks(n, work, system) and "failed" not in self.figures(n, work.name, system.name)

    def figures(self, n: int, work: str, name: str) -> Figures:
        found: Figures = self.rounds[n].get(work, {}).get(name, {})
        return found

    def add(self, n: int, work: Work, system: System, found: Figures) -> None:
        self.rounds[n].setdefault(work.name, {})[system.name] = found

    def values(self, column: Column, name: str) -> list[float]:
        """One of each round in which it was found."""
        found = [self.figures(n, column.work, name).get(column.figure) for n in range(len(self.rounds))]
        return [each for each in found if each is not None]

    def summary(self) -> dict[str, dict[str, dict[str, float]]]:
        """Of each system and column the median, the lowest and the highest of the rounds."""
        return {
            system.name: {
                column.name: {"median": statistics.median(values), "low": min(values), "high": max(values)}
                for column in (*SPEED, *COSTS)
                if (values := self.values(column, system.name))
            }
            for system in FIELD
            if any(system.name in of_work for works in self.rounds for of_work in works.values())
        }

    def write(self, file: Path, **more: Any) -> None:
        file.parent.mkdir(parents=True, exist_ok=True)
        written = {**vars(self), "summary": self.summary(), **more}
        made = file.with_suffix(f".{os.getpid()}")
        made.write_text(json.dumps(written, indent=1) + "\n")
        made.replace(file)


def by_name(name: str) -> Column:
    return next(column for column in (*SPEED, *COSTS) if column.name == name)
