"""The tables of `make bench-worker`, and what the worker is meant to reach."""

from dataclasses import dataclass
from typing import Any

from rich.console import Console
from rich.table import Table

from bench import payload
from bench.figures import shown

WAL = ("wal_bytes", "wal_enqueue_bytes", "wal_after_bytes")
"""System → payload → bytes a job: its whole life, until it is enqueued, and from then on."""


@dataclass(frozen=True)
class Goal:
    ratio: str
    label: str
    at_least: float | None = None
    at_most: float | None = None
    form: str = ".2f"

    def met(self, value: float) -> bool:
        return (self.at_least is None or value >= self.at_least) and (self.at_most is None or value <= self.at_most)

    def __str__(self) -> str:
        return f"≥ {self.at_least:{self.form}}" if self.at_least is not None else f"≤ {self.at_most:{self.form}}"


GOALS = (
    Goal("drain/pgqueuer", "drain / pgqueuer", at_least=2.5),
    Goal("drain/graphile-worker", "drain / graphile-worker", at_least=1.2),
    Goal("drain/bare", "drain / bare SQL", at_least=0.5),
    Goal("idle_p50", "idle p50 / the best of the others", at_most=0.7),
    Goal("idle_p99", "idle p99 / the best of the others", at_most=1.0),
    Goal("sleep", "10,000 sleeping jobs: time / ideal", at_most=1.15),
    Goal("memory", "memory: last third / first third", at_most=1.1),
)


def goals(sizes: list[int]) -> list[Goal]:
    """Those above, and those that hold for every size."""
    found = list(GOALS)
    for size in sizes:
        drain, what = f"drain{payload.suffix(size)}", f"drain, {size:,} bytes"
        if size:
            found.append(Goal(f"{drain}/pgqueuer", f"{what} / pgqueuer", at_least=2.0))
            found.append(Goal(f"{drain}/graphile-worker", f"{what} / graphile-worker", at_least=1.2))
        wal = f"WAL after the enqueue, {size:,} bytes"
        found.append(Goal(f"wal_after{payload.suffix(size)}", wal, at_most=1200, form=",.0f"))
    return found


def show(console: Console, results: dict[str, Any]) -> dict[str, bool]:
    """Prints it all; which goals were met, of those that were measured."""
    sizes: list[int] = results["payloads"]
    console.print(_systems(results, sizes[0]))
    for size in sizes:
        console.print(_costs(results, size))
    measured = _measured(results, sizes)
    met = {goal.ratio: goal.met(measured[goal.ratio]) for goal in goals(sizes) if goal.ratio in measured}
    table = Table(title="goals", box=None)
    for column in ("ours", "measured", "goal", ""):
        table.add_column(column, justify="left" if column in ("ours", "") else "right")
    for goal in goals(sizes):
        if goal.ratio in met:
            verdict = "[green]met[/]" if met[goal.ratio] else "[red]missed[/]"
            table.add_row(goal.label, f"{measured[goal.ratio]:{goal.form}}", str(goal), verdict)
    console.print(table)
    if results["memory_mb"]:
        [first, *_, last] = memory = results["memory_mb"]
        console.print(f"memory: {first:.0f} MB at first, {max(memory):.0f} at most, {last:.0f} at the end")
    return met


def _measured(results: dict[str, Any], sizes: list[int]) -> dict[str, float]:
    """What goals are set for, by the name of the goal."""
    measured: dict[str, float] = dict(results["ratios"])
    if results["sleep_ratio"] is not None:
        measured["sleep"] = results["sleep_ratio"]
    for size in sizes:
        after = results["wal_after_bytes"].get("penstock", {}).get(payload.label(size))
        if after is not None:
            measured[f"wal_after{payload.suffix(size)}"] = after
    return measured


def _systems(results: dict[str, Any], size: int) -> Table:
    """How fast they are; with the first of the sizes, if there are several."""
    table = _table("worker", "jobs/s", "by two", "idle p50", "p99 ms")
    drain = results[f"drain{payload.suffix(size)}"]
    by_two = results[f"drain2{payload.suffix(size)}"]
    for name, rate in _fastest_first(drain):
        idle = results["idle_ms"].get(name, {})
        table.add_row(
            _name(name), f"{rate:,.0f}", f"{by_two[name]:,.0f}",
            shown(idle.get("p50"), ".2f"), shown(idle.get("p99"), ".2f"),
        )  # fmt: skip
    return table


def _costs(results: dict[str, Any], size: int) -> Table:
    """What a job of this size costs: after the enqueue, and at it."""
    columns = "jobs/s", "worker µs", "Postgres µs", "at enqueue", "WAL B", "at enqueue", "jobs"
    table = _table(f"{size:,} bytes a job, one process", *columns)
    label, suffix = payload.label(size), payload.suffix(size)
    for name, rate in _fastest_first(results[f"drain{suffix}"]):
        cpu = results[f"cpu_us{suffix}"][name]
        table.add_row(
            _name(name), f"{rate:,.0f}", shown(cpu["worker"], ",.0f"), shown(cpu["postgres"], ",.0f"),
            shown(cpu["postgres_enqueue"], ",.0f"), shown(results["wal_after_bytes"][name][label], ",.0f"),
            shown(results["wal_enqueue_bytes"][name][label], ",.0f"), f"{results[f'jobs{suffix}'][name]:,}",
        )  # fmt: skip
    return table


def _table(title: str, *columns: str) -> Table:
    table = Table(title=title, box=None)
    table.add_column("system", no_wrap=True)
    for column in columns:
        table.add_column(column, justify="right")
    return table


def _fastest_first(rates: dict[str, float]) -> list[tuple[str, float]]:
    return sorted(rates.items(), key=lambda item: -item[1])


def _name(name: str) -> str:
    return f"[bold]{name}[/]" if name == "penstock" else name
