"""`make chaos`: real processes and a real Postgres under random faults, and a ledger that must balance.

Writes bench/results/chaos.json, or chaos-guarded.json. Exit code 1 when a job was lost, an outcome accepted twice or
too late, an effect not written exactly once, or somebody took longer than ten seconds to be back at work.
"""

import argparse
import json
import random
import signal
import sys
import time
from pathlib import Path

from rich.console import Console
from rich.progress import BarColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

from tests.chaos.faults import FAULTS, USUAL
from tests.chaos.report import show, to_json
from tests.chaos.storm import Plan, run_storm

RESULTS = Path(__file__).parents[2] / "bench" / "results"


def read_plan() -> Plan:
    options = argparse.ArgumentParser(prog="python -m tests.chaos", description=__doc__.splitlines()[0])
    options.add_argument("--seconds", type=float, default=240, help="how long faults strike")
    options.add_argument("--seed", type=int, default=None, help="repeats the faults of an earlier run")
    options.add_argument("--lease", type=float, default=3.0, help="seconds")
    options.add_argument("--only", choices=list(FAULTS), action="append", help="this fault; may be given several times")
    options.add_argument("--guarded", action="store_true", help="roles that own nothing, row level security, PgBouncer")
    options.add_argument("--logs", type=Path, help="a folder to leave logs and ledgers in")
    chosen = options.parse_args()
    seed = random.randrange(10**6) if chosen.seed is None else chosen.seed
    return Plan(seed, chosen.seconds, chosen.only or USUAL, chosen.lease, guarded=chosen.guarded, logs=chosen.logs)


class Terminal:
    """A line for each fault, and below them what is going on."""

    def __init__(self, progress: Progress, seconds: float) -> None:
        self._progress = progress
        self._began = time.monotonic()
        self._task = progress.add_task("starting", total=seconds)

    def say(self, line: str) -> None:
        self._progress.console.print(f"{self._elapsed():6.1f} s  {line}", highlight=False)

    def now(self, doing: str) -> None:
        self._progress.update(self._task, description=doing, completed=self._elapsed())

    def _elapsed(self) -> float:
        return time.monotonic() - self._began


def main() -> int:
    plan = read_plan()
    console = Console()
    console.print(f"seed {plan.seed} (repeat it with --seed {plan.seed})")
    for ending in (signal.SIGINT, signal.SIGTERM):
        signal.signal(ending, signal.default_int_handler)
    columns = SpinnerColumn(), TextColumn("{task.description:16}"), BarColumn(), TimeElapsedColumn()
    with Progress(*columns, console=console, transient=True) as progress:
        outcome = run_storm(plan, Terminal(progress, plan.seconds))
    show(console, outcome)
    RESULTS.mkdir(exist_ok=True)
    written = RESULTS / ("chaos-guarded.json" if plan.guarded else "chaos.json")
    written.write_text(json.dumps(to_json(outcome), indent=2) + "\n")
    console.print(f"written to {written.relative_to(RESULTS.parents[1])}")
    return 0 if outcome.good else 1


if __name__ == "__main__":
    try:
        sys.exit(main())
    except KeyboardInterrupt:
        sys.exit("stopped; nothing is left behind")
