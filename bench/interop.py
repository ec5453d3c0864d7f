"""`make bench-interop`: what speaks other systems' languages, beside those systems.

Writes bench/results/interop.json: `pgmq_ratio`, our messages a second through pgmq's SQL by those of the real pgmq
(bench/interop_pgmq.py); `bullmq_ratio`, jobs a second of our worker on BullMQ's queues by those of the worker of its
own Python package (bench/interop_bullmq.py); and whether the goals are met. --only chooses among the parts.
"""

import argparse
from collections.abc import Callable, Mapping
from pathlib import Path

from rich.console import Console

from bench import figures, goals, interop_bullmq, interop_pgmq
from bench.goals import Goal
from bench.processes import ROOT
from penstock import embedded

FOLDER = ROOT / ".cache" / "bench-interop-postgres"
RESULTS = ROOT / "bench" / "results" / "interop.json"
GOALS = (
    Goal("pgmq_ratio", "messages through pgmq's SQL, by those of the real one", at_least=0.9),
    Goal("bullmq_ratio", "jobs on BullMQ's queues, by those of its own Python worker", at_least=1.0),
)


def pgmq(chosen: argparse.Namespace) -> dict[str, object]:
    with embedded.start(chosen.folder) as postgres:
        real = interop_pgmq.real_sql(chosen.pgmq_sql)
        return interop_pgmq.measured(postgres.url, chosen.batches, chosen.rounds, real)


PARTS: Mapping[str, Callable[[argparse.Namespace], dict[str, object]]] = {
    "pgmq": pgmq,
    "bullmq": lambda chosen: interop_bullmq.measured(chosen.rounds, chosen.jobs),
}
"""Each gives what is to be written into the results."""


def options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", choices=PARTS, nargs="+", default=list(PARTS))
    parser.add_argument("--rounds", type=figures.at_least(1), default=9)
    parser.add_argument("--batches", type=figures.at_least(1), default=100, help="of 100 messages, in each round")
    parser.add_argument("--jobs", type=figures.at_least(1000), default=3000, help="of BullMQ, in each round")
    parser.add_argument("--pgmq-sql", type=Path, help="pgmq's own pgmq.sql; else that of the PyPI package pgmq")
    parser.add_argument("--folder", type=Path, default=FOLDER, help="of the embedded Postgres")
    parser.add_argument("--results", type=Path, default=RESULTS)
    return parser.parse_args()


def main() -> None:
    chosen = options()
    console = Console()
    told: dict[str, object] = {}
    for part in chosen.only:
        found = PARTS[part](chosen)
        console.print(found)
        told |= found
    judged = {name: value for name, value in told.items() if isinstance(value, float)}
    console.print(goals.table(GOALS, judged))
    met = goals.verdicts(GOALS, judged)
    figures.merge(chosen.results, {**told, "goals_met": met})
    goals.end(met)


if __name__ == "__main__":
    main()
