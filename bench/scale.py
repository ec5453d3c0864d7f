"""`make bench-scale`: many of what there may be many of, each beside a few of it in the same run.

A thousand queues, a hundred thousand owners of one fair queue, a hundred thousand schedules, a flow of ten thousand
jobs. Prints a table, writes bench/results/scale.json and, once everything is measured, the figures of docs/scale.md.
What counts are the ratios, and what Postgres spends: costs are of CPU where /proc tells it, so that other programs of
the machine do not count.
"""

import argparse
import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from bench import figures, goals, machine, pages, scale_flows, scale_owners, scale_queues, scale_schedules
from bench.goals import Goal
from bench.processes import ROOT
from bench.sides import Sides, sides
from penstock import embedded

FOLDER = ROOT / ".cache" / "bench-scale-postgres"
RESULTS = ROOT / "bench" / "results" / "scale.json"
PAGE = ROOT / "docs" / "scale.md"
BEGIN, END = "<!-- written by make bench-scale -->", "<!-- until here -->"
Measured = Mapping[str, Mapping[str, float]]


@dataclass(frozen=True)
class Case:
    few: int
    many: int
    measure: Callable[[Sides], Awaitable[Measured]]
    goals: Sequence[Goal]


CASES = {
    "queues": Case(1, 1_000, scale_queues.measure, scale_queues.GOALS),
    "owners": Case(10, 100_000, scale_owners.measure, scale_owners.GOALS),
    "schedules": Case(100, 100_000, scale_schedules.measure, scale_schedules.GOALS),
    "flow": Case(100, 10_000, scale_flows.measure, scale_flows.GOALS),
}
GOALS = [replace(goal, label=f"{name}: {goal.label}") for name, case in CASES.items() for goal in case.goals]


async def measure(url: str, sizes: Mapping[str, int], console: Console) -> dict[str, Any]:
    """Of each case its sizes, what each thing costs on both sides, and what the goals are about by their names."""
    results: dict[str, Any] = {}
    for name, many in sizes.items():
        case = CASES[name]
        with console.status(f"{name}: {many:,} beside {case.few:,}"):
            async with sides(url, name, case.few, many) as both:
                costs = await case.measure(both)
        results[name] = {"few": case.few, "many": many, **{what: dict(each) for what, each in costs.items()}}
        for what, each in costs.items():
            results[f"{name}_{what}_ratio"] = each["ratio"]
            results[f"{name}_{what}_ms"] = each["large"]
        console.print(_table(name, results[name], costs))
    return results


def _table(name: str, case: Mapping[str, Any], costs: Measured) -> Table:
    table = Table(title=f"{name}: {case['many']:,} beside {case['few']:,}", box=None)
    for column in ("", "few", "many", "ratio"):
        table.add_column(column, justify="right" if column else "left")
    for what, each in costs.items():
        table.add_row(what.replace("_", " "), *(f"{each[side]:,.3f}" for side in ("small", "large", "ratio")))
    return table


def written(results: Mapping[str, Any]) -> str:
    """What stands between the marks of docs/scale.md: every cost on both sides, and what the goals say of it."""
    lines = [
        f"{machine.told(results['machine'])}. Milliseconds of Postgres's CPU, or of time where more than it works.",
        "",
    ]
    lines += ["| | few | many | ratio | goal |", "|---|---:|---:|---:|---|"]
    for name, case in ((name, case) for name, case in CASES.items() if name in results):
        lines.append(f"| **{name}: {results[name]['many']:,} beside {results[name]['few']:,}** | | | | |")
        labels = {goal.name: goal for goal in case.goals}
        for what, each in results[name].items():
            if isinstance(each, Mapping):
                judged = [labels[goal] for goal in (f"{name}_{what}_ratio", f"{name}_{what}_ms") if goal in labels]
                label = judged[0].label.removesuffix(", in ms") if judged else what.replace("_", " ")
                costs = " | ".join(f"{each[side]:,.2f}" for side in ("small", "large", "ratio"))
                lines.append(f"| {label} | {costs} | {', '.join(_goal(goal, results[goal.name]) for goal in judged)} |")
    return "\n".join(lines)


def _goal(goal: Goal, value: float) -> str:
    return f"{goal}{' ms' if goal.name.endswith('_ms') else ''}{'' if goal.met(value) else ', **not met**'}"


def is_whole(chosen: argparse.Namespace) -> bool:
    """Whether all is measured at the sizes that the page is about."""
    return not chosen.only and all(getattr(chosen, name) == case.many for name, case in CASES.items())


def options(arguments: Sequence[str] | None = None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    for name, case in CASES.items():
        parser.add_argument(
            f"--{name}", type=figures.at_least(case.few + 1), default=case.many, help=f"else {case.many:,}"
        )
    parser.add_argument("--only", nargs="+", choices=list(CASES), help="these cases alone")
    parser.add_argument("--page", type=Path, help="that is written into (else docs/scale.md, if all is measured)")
    parser.add_argument("--folder", type=Path, default=FOLDER, help="of the server")
    parser.add_argument("--results", type=Path, default=RESULTS)
    return parser.parse_args(arguments)


def main() -> None:
    chosen = options()
    console = Console()
    sizes = {name: getattr(chosen, name) for name in CASES if not chosen.only or name in chosen.only}
    settings = {"shared_buffers": "512MB", "max_wal_size": "4GB", "synchronous_commit": "off"}
    try:
        with embedded.start(chosen.folder, settings=settings) as postgres:
            results = asyncio.run(measure(postgres.url, sizes, console))
            results["machine"] = machine.machine(postgres.url)
    except KeyboardInterrupt:
        raise SystemExit("stopped; nothing was written") from None
    console.print(goals.table(GOALS, results))
    results["goals_met"] = goals.verdicts(GOALS, results)
    figures.merge(chosen.results, results)
    console.print(f"written to {chosen.results}")
    if page := chosen.page or (PAGE if is_whole(chosen) else None):
        pages.write_between(page, BEGIN, END, written(results))
        console.print(f"and to {page}")
    goals.end(results["goals_met"])


if __name__ == "__main__":
    main()
