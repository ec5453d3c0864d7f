"""`make chaos-ha`: the storm over three Postgres under Patroni, of which the leader is switched, killed and cut off.

Writes bench/results/ha.json. Exit code 1 when anything acknowledged was lost, anything counted twice, or somebody took
longer than five seconds from a promotion to be back at work. Needs root (network namespaces) and etcd.
"""

import argparse
import json
import random
import sys
from pathlib import Path

from rich.console import Console

from tests.chaos.crew import Crew
from tests.chaos.ha.cluster import NotToBeHad, run_cluster
from tests.chaos.ha.faults import FAULTS, Stage
from tests.chaos.report import show, to_json
from tests.chaos.storm import Outcome, Plan, Storm, ledger_folder, prepare
from tests.chaos.visitor import visited

RESULTS = Path(__file__).parents[3] / "bench" / "results" / "ha.json"
ALLOWED = 5.0
"""Seconds from a promotion."""


class Lines:
    """A line for each thing that happened."""

    def __init__(self, console: Console) -> None:
        self._console = console

    def say(self, line: str) -> None:
        self._console.print(line, highlight=False)

    def now(self, doing: str) -> None:
        """Nothing to be drawn: a failover takes half a minute, and its line comes in the end."""


def run(plan: Plan, lines: Lines) -> tuple[Outcome, list[float]]:
    """What came of it, and after each promotion the seconds until the API had served somebody to the end."""
    with ledger_folder(plan.logs) as folder, run_cluster(plan.logs) as cluster:
        lines.say("three nodes are up")
        prepare(cluster)
        crew = Crew(cluster.url, folder, plan.lease)
        stage = Stage(cluster, crew, random.Random(plan.seed))
        try:
            with visited(cluster.url, folder) as visitor:
                storm = Storm(plan, stage, FAULTS, folder, lines)
                outcome = storm.run(before_draining=visitor.leave)
            return outcome, [visitor.served_after(promotion) for promotion in stage.promotions]
        finally:
            crew.kill_all()


def main() -> int:
    options = argparse.ArgumentParser(prog="python -m tests.chaos.ha", description=__doc__.splitlines()[0])
    options.add_argument("--seconds", type=float, default=600, help="how long faults strike; each at least once")
    options.add_argument("--seed", type=int, default=random.randrange(10**6), help="repeats an earlier run's faults")
    options.add_argument("--only", choices=list(FAULTS), action="append", help="this fault; may be given several times")
    options.add_argument("--logs", type=Path, help="a folder to leave logs and ledgers in")
    chosen = options.parse_args()
    console = Console()
    console.print(f"seed {chosen.seed} (repeat it with --seed {chosen.seed})")
    plan = Plan(chosen.seed, chosen.seconds, chosen.only or tuple(FAULTS), logs=chosen.logs, allowed=ALLOWED)
    try:
        outcome, served = run(plan, Lines(console))
    except NotToBeHad as missing:
        console.print(f"[red]{missing}[/red]")
        return 2
    show(console, outcome)
    console.print(f"the API served again after {max(served):.2f} s, the longest of {len(served)} promotions")
    recovery = max(outcome.recovery, *served)
    good = outcome.good and max(served) <= ALLOWED
    about = {
        "failovers": len(served), "recovery_s": round(recovery, 3), "api_recovery_s": round(max(served), 3),
        "api_each_s": [round(seconds, 3) for seconds in served],
    }  # fmt: skip
    RESULTS.parent.mkdir(exist_ok=True)
    RESULTS.write_text(json.dumps(to_json(outcome) | about | {"good": good}, indent=2) + "\n")
    console.print(f"written to {RESULTS.relative_to(RESULTS.parents[2])}")
    return 0 if good else 1


if __name__ == "__main__":
    try:
        sys.exit(main())
    except KeyboardInterrupt:
        sys.exit("stopped; nothing is left behind")
