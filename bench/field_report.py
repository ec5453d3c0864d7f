"""The tables of `make bench`: of the same cells on the terminal and in docs/benchmarks.md."""

from collections.abc import Sequence

from rich.console import Console
from rich.table import Table

from bench.field_goals import Verdict, verdicts
from bench.field_results import COSTS, SPEED, Column, Results
from bench.systems import FIELD, System

LEFT_OUT = "–"
"""For what means nothing here: WAL of a Redis."""


def measured(results: Results) -> list[System]:
    """The fastest first; then who could not be had."""
    summary = results.summary()

    def drain(system: System) -> float:
        return summary.get(system.name, {}).get("drain", {}).get("median", 0.0)

    found = [system for system in FIELD if system.name in summary or system.name in results.unavailable]
    return sorted(found, key=lambda system: -drain(system))


def cells(results: Results, system: System, columns: Sequence[Column]) -> list[str]:
    """Median and spread, half of what lies between the lowest and the highest; or what there is to say instead."""
    if system.name in results.unavailable:
        return ["cannot be had here"] + [""] * (len(columns) - 1)
    of_system = results.summary().get(system.name, {})
    return [_cell(results, system, column, of_system.get(column.name)) for column in columns]


def _cell(results: Results, system: System, column: Column, found: dict[str, float] | None) -> str:
    if found is None:
        failed = any("failed" in results.figures(n, column.work, system.name) for n in range(len(results.rounds)))
        return "failed" if failed else LEFT_OUT
    shown = f"{found['median']:{column.form}}"
    if len(results.rounds) == 1 or not found["median"]:
        return shown
    return f"{shown} ±{(found['high'] - found['low']) / 2 / found['median']:.0%}"


def verdict_cells(verdict: Verdict) -> list[str]:
    said = {True: "met", False: "not met", None: "not judged"}[verdict.met]
    return [verdict.label, f"{verdict.measured:.2f}", verdict.goal, said, verdict.beside]


def show(console: Console, results: Results) -> None:
    for title, columns in (("speed", SPEED), ("larger jobs, an old snapshot, costs of a job", COSTS)):
        there = [column for column in columns if any(results.values(column, system.name) for system in FIELD)]
        table = Table(title=title, box=None)
        table.add_column("system", no_wrap=True)
        for column in there:
            table.add_column(column.label, justify="right")
        for system in measured(results):
            name = f"[bold]{system.name}[/]" if system.name == "penstock" else system.name
            table.add_row(name, *cells(results, system, there))
        console.print(table)
    goals = Table(title="goals", box=None)
    for label in ("ours", "measured", "goal", "", "beside"):
        goals.add_column(label)
    for verdict in verdicts(results):
        colour = {True: "green", False: "red", None: "yellow"}[verdict.met]
        label, figure, goal, said, beside = verdict_cells(verdict)
        goals.add_row(label, figure, goal, f"[{colour}]{said}[/]", beside)
    console.print(goals)
    for name, why in results.unavailable.items():
        console.print(f"[yellow]{name} cannot be had here: {why}[/]")
    for line in failures(results):
        console.print(f"[yellow]{line}[/]")


def failures(results: Results) -> list[str]:
    return [
        f"{name}, {work}, round {n + 1}: {found['failed']}"
        for n, works in enumerate(results.rounds)
        for work, of_work in works.items()
        for name, found in of_work.items()
        if "failed" in found
    ]
