"""`make chaos-ha`: the storm over three Postgres under Patroni, of which the leader is switched, killed and cut off.

Writes bench/results/ha.json. Exit code 1 when anything acknowledged was lost, anything counted twice, somebody took
longer than five seconds from a promotion to be back at work, or the stream of a job that lasts as long as the storm
stood still after one. Needs root (network namespaces) and etcd.
"""

import argparse
import json
import random
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from rich.console import Console

from tests.chaos.crew import Crew
from tests.chaos.ha.cluster import NotToBeHad, run_cluster
from tests.chaos.ha.faults import FAULTS, Stage
from tests.chaos.report import show, to_json
from tests.chaos.storm import Outcome, Plan, Storm, ledger_folder, prepare
from tests.chaos.visitor import visited
from tests.chaos.watcher import watched

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


@dataclass(frozen=True)
class Failovers:
    """What came of it, and how many seconds after each promotion; none where it was never."""

    outcome: Outcome
    served: Sequence[float | None]
    """The API had served somebody to the end."""
    went_on: Sequence[float | None]
    """The next step of the long job was heard of, on its stream."""
    streams: int
    """How often that was opened."""
    saw_the_end: bool

    @property
    def api_recovery(self) -> float | None:
        return longest(self.served)

    @property
    def recovery(self) -> float | None:
        return longest([self.outcome.recovery, *self.served])

    @property
    def good(self) -> bool:
        carried_on = self.saw_the_end and None not in self.went_on
        return self.outcome.good and self.recovery is not None and self.recovery <= ALLOWED and carried_on

    def to_json(self) -> dict[str, object]:
        return to_json(self.outcome) | {
            "failovers": len(self.served), "recovery_s": rounded(self.recovery),
            "api_recovery_s": rounded(self.api_recovery), "api_each_s": [rounded(each) for each in self.served],
            "stream_recovery_s": rounded(longest(self.went_on)),
            "stream_each_s": [rounded(each) for each in self.went_on],
            "streams": self.streams, "stream_saw_the_end": self.saw_the_end, "good": self.good,
        }  # fmt: skip


def longest(each: Sequence[float | None]) -> float | None:
    """None if one of them never came."""
    return None if None in each else max((seconds for seconds in each if seconds is not None), default=0.0)


def rounded(seconds: float | None) -> float | None:
    return None if seconds is None else round(seconds, 3)


def told(seconds: float | None) -> str:
    return "never" if seconds is None else f"after {seconds:.2f} s"


def run(plan: Plan, lines: Lines) -> Failovers:
    with ledger_folder(plan.logs) as folder, run_cluster(plan.logs) as cluster:
        lines.say("three nodes are up")
        prepare(cluster)
        crew = Crew(cluster.url, folder, plan.lease)
        stage = Stage(cluster, crew, random.Random(plan.seed))
        try:
            with visited(cluster.url, folder) as visitor, watched(visitor.address, folder) as watcher:

                def leave() -> None:
                    watcher.leave()
                    visitor.leave()

                outcome = Storm(plan, stage, FAULTS, folder, lines).run(before_draining=leave)
            served = [visitor.served_after(promotion) for promotion in stage.promotions]
            went_on = [watcher.heard_after(promotion) for promotion in stage.promotions]
            return Failovers(outcome, served, went_on, watcher.streams, watcher.saw_the_end)
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
        found = run(plan, Lines(console))
    except NotToBeHad as missing:
        console.print(f"[red]{missing}[/red]")
        return 2
    show(console, found.outcome)
    console.print(f"the API served again {told(found.api_recovery)}, the longest of {len(found.served)} promotions")
    console.print(f"the stream of a long job went on {told(longest(found.went_on))}; opened {found.streams} times")
    if not found.saw_the_end:
        console.print("[red]its end was not heard of[/red]")
    RESULTS.parent.mkdir(exist_ok=True)
    RESULTS.write_text(json.dumps(found.to_json(), indent=2, allow_nan=False) + "\n")
    console.print(f"written to {RESULTS.relative_to(RESULTS.parents[2])}")
    return 0 if found.good else 1


if __name__ == "__main__":
    try:
        sys.exit(main())
    except KeyboardInterrupt:
        sys.exit("stopped; nothing is left behind")
