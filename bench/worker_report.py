"""The tables of `make bench-worker`, and what the worker is meant to reach."""

from dataclasses import dataclass
from typing import Any

from rich.console import Console
from rich.table import Table


@dataclass(frozen=True)
class Goal:
    ratio: str
    label: str
    at_least: float | None = None
    at_most: float | None = None

    def met(self, value: float) -> bool:
        return (self.at_least is None or value >= self.at_least) and (self.at_most is None or value <= self.at_most)

    def __str__(self) -> str:
        return f"≥ {self.at_least:.2f}" if self.at_least is not None else f"≤ {self.at_most:.2f}"


GOALS = (
    Goal("drain/pgqueuer", "drain / pgqueuer", at_least=2.5),
    Goal("drain/graphile-worker", "drain / graphile-worker", at_least=1.0),
    Goal("drain/bare", "drain / bare SQL", at_least=0.5),
    Goal("idle_p50", "idle p50 / the best of the others", at_most=0.7),
    Goal("idle_p99", "idle p99 / the best of the others", at_most=1.0),
    Goal("sleep", "10,000 sleeping jobs: time / ideal", at_most=1.15),
    Goal("memory", "memory: last third / first third", at_most=1.1),
)


def show(console: Console, results: dict[str, Any]) -> dict[str, bool]:
    """Prints it all; which goals were met, of those that were measured."""
    console.print(_systems(results))
    table = Table(title="goals", box=None)
    for column in ("ours", "measured", "goal", ""):
        table.add_column(column, justify="left" if column in ("ours", "") else "right")
    ratios: dict[str, float] = dict(results["ratios"])
    if results["sleep_ratio"] is not None:
        ratios["sleep"] = results["sleep_ratio"]
    met = {goal.ratio: goal.met(ratios[goal.ratio]) for goal in GOALS if goal.ratio in ratios}
    for goal in GOALS:
        if goal.ratio in ratios:
            verdict = "[green]met[/]" if met[goal.ratio] else "[red]missed[/]"
            table.add_row(goal.label, f"{ratios[goal.ratio]:.2f}", str(goal), verdict)
    console.print(table)
    if results["memory_mb"]:
        [first, *_, last] = shown = results["memory_mb"]
        console.print(f"memory: {first:.0f} MB at first, {max(shown):.0f} at most, {last:.0f} at the end")
    return met


def _systems(results: dict[str, Any]) -> Table:
    table = Table(title="worker", box=None)
    table.add_column("system", no_wrap=True)
    for column in ("jobs/s", "by two", "idle p50", "p99 ms", "CPU µs", "Postgres", "jobs"):
        table.add_column(column, justify="right")
    for name, rate in sorted(results["drain"].items(), key=lambda item: -item[1]):
        idle = results["idle_ms"].get(name, {})
        cpu = results["cpu_us"][name]
        table.add_row(
            f"[bold]{name}[/]" if name == "penstock" else name, f"{rate:,.0f}", f"{results['drain2'][name]:,.0f}",
            _form(idle.get("p50"), ".2f"), _form(idle.get("p99"), ".2f"), _form(cpu["worker"], ",.0f"),
            _form(cpu["postgres"], ",.0f"), f"{results['jobs'][name]:,}",
        )  # fmt: skip
    return table


def _form(value: float | None, form: str) -> str:
    return "" if value is None else f"{value:{form}}"
