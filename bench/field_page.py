"""Writes the figures of `make bench` into docs/benchmarks.md, between two markers, and the chart beside it."""

from collections.abc import Iterable, Sequence
from pathlib import Path

from bench import field_chart, field_report, machine, pages
from bench.field_goals import verdicts
from bench.field_results import COSTS, SPEED, Column, Results
from bench.packages import version
from bench.processes import ROOT
from bench.systems import System

PAGE = ROOT / "docs" / "benchmarks.md"
BEGIN, END = "<!-- figures: written by make bench -->", "<!-- end of figures -->"


def write(page: Path, results: Results) -> None:
    """What stands outside of the markers is left as it is."""
    pages.write_between(page, BEGIN, END, figures(results))
    assets = page.parent / "assets"
    assets.mkdir(exist_ok=True)
    for theme in field_chart.THEMES:
        (assets / f"benchmarks-{theme}.svg").write_text(field_chart.drawn(results, theme))


def figures(results: Results) -> str:
    systems = field_report.measured(results)
    return "\n".join(
        [
            _machine(results),
            "",
            *(f"![{field_chart.TITLE}](assets/benchmarks-{theme}.svg#only-{theme})" for theme in field_chart.THEMES),
            "",
            "## Goals",
            "",
            *_table(["ours", "measured", "goal", "", "beside"], map(field_report.verdict_cells, verdicts(results)), 1),
            "",
            "## Speed",
            "",
            *_figures(results, systems, SPEED),
            "",
            "## Larger jobs, an old snapshot, costs of a job",
            "",
            *_figures(results, systems, COSTS),
            "",
            *_told(results),
            "## Settings",
            "",
            *_table(
                ["", "keeps jobs in", "settings"], ([_called(each), _where(each), each.settings] for each in systems), 3
            ),
            "",
        ]
    )


def _machine(results: Results) -> str:
    here, settings = results.machine, results.plan["settings"]
    set_to = ", ".join(f"`{name} = {value}`" for name, value in settings.items())
    rounds = len(results.rounds)
    return (
        f"{machine.told(here)} with {set_to}; {here['redis']}, which keeps nothing on disk; Node {here['node']}. "
        f"Clients and servers share the cores. Medians of {rounds}, ± half of what lies between lowest and highest."
    )


def _figures(results: Results, systems: Iterable[System], columns: Sequence[Column]) -> list[str]:
    rows = ([_called(system), *field_report.cells(results, system, columns)] for system in systems)
    return _table(["", *(column.label for column in columns)], rows, 1)


def _table(head: Sequence[str], rows: Iterable[Sequence[str]], left: int) -> list[str]:
    """So many columns are aligned to the left."""
    rule = ["---"] * left + ["---:"] * (len(head) - left)
    return [_line(head), "|" + "|".join(rule) + "|", *map(_line, rows)]


def _line(cells: Sequence[str]) -> str:
    return "| " + " | ".join(cells) + " |"


def _called(system: System) -> str:
    name = f"**{system.name}**" if system.name == "penstock" else system.name
    return f"{name} {version(system.name)}"


def _where(system: System) -> str:
    kept = "kept when finished" if system.keeps else "gone when finished"
    return f"{system.store}, {kept}"


def _told(results: Results) -> list[str]:
    """Who is not in the tables, or not wholly, and why."""
    lines = [f"{name} cannot be had here: {why}" for name, why in results.unavailable.items()]
    lines += field_report.failures(results)
    return [*(f"- {line}" for line in lines), ""] if lines else []
