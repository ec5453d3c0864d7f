"""What `make bench` is meant to show, and whether it did."""

import statistics
from collections.abc import Sequence
from dataclasses import dataclass

from bench import payload
from bench.field_results import Column, Results, by_name
from bench.goals import Goal
from bench.systems import BY_NAME, FIELD, System

CORES_FOR_TWO = 4
"""Two workers and what Postgres does for them: on fewer cores, two processes cannot be much faster than one."""

OURS = BY_NAME["penstock"]
OTHERS = [system for system in FIELD if system is not OURS]
FULL = [system for system in OTHERS if system.full]
ON_POSTGRES = [system for system in FULL if system.store == "Postgres"]
IN_PYTHON = [system for system in FULL if system.language == "Python"]
KEEP = [system for system in OTHERS if system.keeps and system.store == "Postgres"]
GRAPHILE, PGMQ = [BY_NAME["graphile-worker"]], [BY_NAME["pgmq"]]
DRAIN, P50, P99 = (by_name(name) for name in ("drain", "idle_p50", "idle_p99"))


@dataclass(frozen=True)
class Comparison:
    """Our figure by the best of theirs: the highest where the goal is to be above it, else the lowest."""

    goal: Goal
    ours: Column
    theirs: Column
    others: Sequence[System]

    def best(self, values: Sequence[float]) -> float:
        return max(values) if self.goal.at_least is not None else min(values)


COMPARISONS = (
    Comparison(Goal("drain", "drain / the best job queue", at_least=1.0), DRAIN, DRAIN, FULL),
    Comparison(Goal("drain_python", "drain / the best one in Python", at_least=2.0), DRAIN, DRAIN, IN_PYTHON),
    Comparison(Goal("drain_graphile", "drain / graphile-worker", at_least=1.2), DRAIN, DRAIN, GRAPHILE),
    Comparison(Goal("drain_pgmq", "drain / pgmq's read and archive", at_least=1.0), DRAIN, DRAIN, PGMQ),
    Comparison(Goal("idle_p50", "idle p50 / the best job queue", at_most=1.0), P50, P50, FULL),
    Comparison(Goal("idle_p50_postgres", "idle p50 / the best on Postgres", at_most=1.0), P50, P50, ON_POSTGRES),
    Comparison(Goal("idle_p99", "idle p99 / the best job queue", at_most=1.0), P99, P99, FULL),
    Comparison(Goal("idle_p99_postgres", "idle p99 / the best on Postgres", at_most=1.0), P99, P99, ON_POSTGRES),
    Comparison(Goal("held", "drain with a snapshot held / without", at_least=0.9), by_name("held"), DRAIN, [OURS]),
    *(
        Comparison(
            Goal(f"wal{payload.suffix(size)}", f"WAL of a job{words} / the least of who keep history", at_most=1.0),
            wal := by_name(f"wal{payload.suffix(size)}"),
            wal,
            KEEP,
        )
        for size, words in ((0, ""), (1024, ", 1 KB"), (10 * 1024, ", 10 KB"))
    ),
    Comparison(Goal("two", "drain by two processes / by one", at_least=1.6), by_name("drain2"), DRAIN, [OURS]),
)


@dataclass(frozen=True)
class Verdict:
    name: str
    label: str
    goal: str
    measured: float
    met: bool | None
    """Nothing where this machine cannot tell."""
    beside: str
    """Whom it was compared with, or why it was not judged."""


def verdicts(results: Results) -> list[Verdict]:
    """Of each goal, unless what it is about was not measured."""
    found = (_verdict(results, comparison) for comparison in COMPARISONS)
    return [each for each in found if each is not None]


def _verdict(results: Results, comparison: Comparison) -> Verdict | None:
    """By the ratio of each round, then the median: the machine's mood changes between rounds."""
    goal, ours, theirs = comparison.goal, comparison.ours, comparison.theirs
    ratios = []
    for n in range(len(results.rounds)):
        our = results.figures(n, ours.work, OURS.name).get(ours.figure)
        known = [results.figures(n, theirs.work, other.name).get(theirs.figure) for other in comparison.others]
        if our is not None and (values := [each for each in known if each is not None]):
            ratios.append(our / comparison.best(values))
    if not ratios:
        return None
    measured = statistics.median(ratios)
    if goal.name == "two" and results.machine["cores"] < CORES_FOR_TWO:
        why = f"needs {CORES_FOR_TWO} cores: a process and Postgres fill these {results.machine['cores']}"
        return Verdict(goal.name, goal.label, str(goal), measured, None, why)
    return Verdict(goal.name, goal.label, str(goal), measured, goal.met(measured), _beside(results, comparison))


def _beside(results: Results, comparison: Comparison) -> str:
    medians = {
        statistics.median(values): other.name
        for other in comparison.others
        if (values := results.values(comparison.theirs, other.name))
    }
    best = medians[comparison.best(list(medians))]
    return "" if best == OURS.name else best
