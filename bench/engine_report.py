"""The tables of `make bench-engine`, and what the engine is meant to reach."""

from typing import Any

from rich.console import Console
from rich.table import Table

from bench import costs, goals, payload
from bench.goals import Goal

GOALS = (
    Goal("ratio", "claim + complete / bare SQL", at_least=0.8),
    Goal("pinned_ratio", "rate with an old snapshot open / without", at_least=0.9),
    Goal("copy_per_s", "aenqueue_many by COPY from two tasks, jobs/s", at_least=150_000, form=",.0f"),
    Goal("single_ratio", "aenqueue from 16 tasks / bare INSERT", at_least=0.7),
)


def show(console: Console, results: dict[str, Any]) -> None:
    sizes: list[int] = results["payloads"]
    console.print(_rates(results, sizes))
    for size in sizes:
        rates = {name: results[f"{name}_per_s{payload.suffix(size)}"] for name in ("bare", "penstock")}
        console.print(costs.table(results, size, rates))
    console.print(goals.table(*judged(results)))
    for name, label in (("flow_per_s", "flow"), ("pinned_flow_per_s", "flow, old snapshot open")):
        console.print(
            f"{label:>24}: " + " ".join(f"{rate / 1000:5.1f}" for rate in results[name]) + "  thousand jobs/s"
        )


def judged(results: dict[str, Any]) -> tuple[list[Goal], dict[str, Any]]:
    """The goals of a run of these sizes, and what was measured by their names."""
    sizes: list[int] = results["payloads"]
    return [*GOALS, *costs.goals(sizes)], {**results, **costs.measured(results, sizes)}


def _rates(results: dict[str, Any], sizes: list[int]) -> Table:
    table = Table(title="engine, jobs/s", box=None)
    for column in ("bytes a job", "claim + complete", "bare SQL", "ratio", "COPY"):
        table.add_column(column, justify="right")
    for size in sizes:
        ours, bare, ratio, copy = (
            results[f"{name}{payload.suffix(size)}"] for name in ("penstock_per_s", "bare_per_s", "ratio", "copy_per_s")
        )
        table.add_row(f"{size:,}", f"{ours:,.0f}", f"{bare:,.0f}", f"{ratio:.2f}", f"{copy:,.0f}")
    return table
