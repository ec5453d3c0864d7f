"""The tables of `make bench-worker`, and what the worker is meant to reach."""

from typing import Any

from rich.console import Console
from rich.table import Table

from bench import before, costs, goals, payload
from bench.figures import shown
from bench.goals import Goal

GOALS = (
    Goal("drain/pgqueuer", "drain / pgqueuer", at_least=2.5),
    Goal("drain/graphile-worker", "drain / graphile-worker", at_least=1.2),
    Goal("drain/bare", "drain / bare SQL", at_least=0.5),
    Goal("idle_p50", "idle p50 / the best of the others", at_most=0.7),
    Goal("idle_p99", "idle p99 / the best of the others", at_most=1.0),
    Goal("sleep", "10,000 sleeping jobs: time / ideal", at_most=1.15),
    Goal("memory", "memory: last third / first third", at_most=1.1),
)


def of_size(size: int) -> list[Goal]:
    """Those that hold for arguments of every size; smaller ones are held to more above."""
    drain, label = f"drain{payload.suffix(size)}", f"drain, {size:,} bytes a job"
    return [
        Goal(f"{drain}/pgqueuer", f"{label} / pgqueuer", at_least=2.0),
        Goal(f"{drain}/graphile-worker", f"{label} / graphile-worker", at_least=1.2),
    ]


def show(console: Console, results: dict[str, Any]) -> dict[str, bool]:
    """Prints it all; which goals were met, of those that were measured."""
    sizes: list[int] = results["payloads"]
    console.print(_systems(results, sizes[0]))
    for size in sizes:
        console.print(costs.table(results, size, results[f"drain{payload.suffix(size)}"]))
    every, measured = judged(results)
    console.print(goals.table(every, measured))
    if results["memory_mb"]:
        [first, *_, last] = memory = results["memory_mb"]
        console.print(f"memory: {first:.0f} MB at first, {max(memory):.0f} at most, {last:.0f} at the end")
    return goals.verdicts(every, measured)


def judged(results: dict[str, Any]) -> tuple[list[Goal], dict[str, float]]:
    """The goals of a run of these sizes, and what was measured by their names."""
    sizes: list[int] = results["payloads"]
    measured = {**results["ratios"], **costs.measured(results, sizes)}
    if results["sleep_ratio"] is not None:
        measured["sleep"] = results["sleep_ratio"]
    return [
        *GOALS,
        *before.GOALS,
        *(goal for size in sizes if size for goal in of_size(size)),
        *costs.goals(sizes),
    ], measured


def _systems(results: dict[str, Any], size: int) -> Table:
    """How fast they are; with the first of the sizes, if there are several."""
    table = Table(title="worker", box=None)
    table.add_column("system", no_wrap=True)
    for column in ("jobs/s", "by two", "idle p50", "p99 ms"):
        table.add_column(column, justify="right")
    by_two = results[f"drain2{payload.suffix(size)}"]
    for name, rate in sorted(results[f"drain{payload.suffix(size)}"].items(), key=lambda item: -item[1]):
        idle = results["idle_ms"].get(name, {})
        table.add_row(
            f"[bold]{name}[/]" if name == "penstock" else name, f"{rate:,.0f}", f"{by_two[name]:,.0f}",
            shown(idle.get("p50"), ".2f"), shown(idle.get("p99"), ".2f"),
        )  # fmt: skip
    return table
