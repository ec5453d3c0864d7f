"""`make last-runs`: what each command gave when it was run last, from bench/results into docs/project/measured.md."""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from bench import dashboard, durable, engine_report, interop, pages, server, snapshot, soak, worker_report
from bench.figures import shown
from bench.goals import Goal
from bench.processes import ROOT

RESULTS = ROOT / "bench" / "results"
PAGE = ROOT / "docs" / "project" / "measured.md"
BEGIN, END = "<!-- written by make last-runs -->", "<!-- until here -->"
Found = Mapping[str, Any]


class Run(NamedTuple):
    """Of one command, what it was of, its goals, and what was measured by their names."""

    command: str
    about: str
    goals: Sequence[Goal]
    measured: Found


def storm(allowed: float) -> tuple[Goal, ...]:
    """What a ledger of chaos is held to."""
    return (
        Goal("lost", "acknowledged, and never finished", at_most=0, form=",.0f"),
        Goal("double_accepted", "finished twice, or by a run that had lost its job", at_most=0, form=",.0f"),
        Goal("ghosts", "there, though nobody committed them", at_most=0, form=",.0f"),
        Goal("effects_wrong", "written in a job's transaction, and not exactly once", at_most=0, form=",.0f"),
        Goal("recovery_s", "the longest until everybody was back at work, in seconds", at_most=allowed, form=".1f"),
    )


def runs(folder: Path) -> Iterator[Run]:
    """Those whose results are there."""
    if (found := _read(folder / "engine.json")) and "payloads" in found:
        yield Run("make bench-engine", _date(found), *engine_report.judged(dict(found)))
    for systems in _snapshots(found):
        if ours := systems.get(snapshot.OURS):
            about = f"{ours['measured_at']}, {ours['rate']:,} jobs/s, a snapshot held for {held_for(ours):,.0f} s"
            yield Run("make bench-snapshot", about, snapshot.ALL, ours)
    if found := _read(folder / "worker.json"):
        yield Run("make bench-worker", _date(found), *worker_report.judged(dict(found)))
    for name, goals in (("server", server.GOALS), ("durable", durable.GOALS), ("interop", interop.GOALS)):
        if found := _read(folder / f"{name}.json"):
            yield Run(f"make bench-{name}", _date(found), goals, found)
    if found := _read(folder / "dashboard.json"):
        about = f"{_date(found)}, {found['live']:,} live and {found['finished']:,} finished jobs"
        yield Run("make bench-dashboard", about, dashboard.GOALS, found)
    if found := _read(folder / "soak.json"):
        yield Run("make soak", f"{_date(found)}, {found['jobs']:,} jobs", soak.GOALS, found)
    for name, command, allowed in (
        ("chaos", "chaos", 10),
        ("chaos-guarded", "chaos-guarded", 10),
        ("ha", "chaos-ha", 5),
    ):
        if found := _read(folder / f"{name}.json"):
            about = f"{_date(found)}, {found['enqueued']:,} jobs, {len(found['faults'])} faults, seed {found['seed']}"
            yield Run(f"make {command}", about, storm(allowed), found)


def held_for(found: Found) -> float:
    """Seconds of an old snapshot."""
    return float(found["seconds"]) * sum(bool(part["held"]) for part in found["parts"])


def under_a_snapshot(folder: Path) -> str:
    """Every system of those runs, beside ours."""
    lines = list[str]()
    for systems in _snapshots(_read(folder / "engine.json")):
        held = held_for(next(iter(systems.values())))
        lines += [
            "",
            f"| a snapshot held for {held:,.0f} s | jobs/s | p99 ms before, under it | dead rows a job "
            "| MB before, under it, after | B a job after / before |",
            "|---|---:|---:|---:|---:|---:|",
            *(_row_of(name, each) for name, each in systems.items()),
        ]
    return "\n".join(lines)


def _snapshots(found: Found) -> Iterator[dict[str, Found]]:
    """Of each run of `make bench-snapshot` its systems that were measured: others failed."""
    for name, systems in found.items():
        if name == "snapshot" or re.fullmatch(r"snapshot_.*_minutes", name):
            measured = {system: each for system, each in systems.items() if snapshot.DEAD_ROWS.name in each}
            if measured:
                yield measured


def _row_of(name: str, found: Found) -> str:
    """Its first part, the last with the snapshot, and the last of all."""
    parts = found["parts"]
    first, last, end = parts[0], [part for part in parts if part["held"]][-1], parts[-1]
    times = ", ".join(shown(part["p99_ms"], ",.1f") or "–" for part in (first, last))
    disk = ", ".join(f"{part['disk_mb']:,.0f}" for part in (first, last, end))
    reused = shown(found["reused_ratio"], ".2f") or "–"
    return f"| {name} | {last['run_per_s']:,.0f} | {times} | {found['dead_rows_per_job']:.2f} | {disk} | {reused} |"


def _read(file: Path) -> Found:
    found: Found = json.loads(file.read_text()) if file.exists() else {}
    return found


def _date(found: Found) -> str:
    return str(found["machine"]["measured_at"])


def table(folder: Path) -> str:
    lines = ["| | measured | goal |", "|---|---:|---:|"]
    for run in runs(folder):
        lines.append(f"| **`{run.command}`**, {run.about} | | |")
        for goal in run.goals:
            value = run.measured.get(goal.name)
            # of a storm: who never came back has no time
            if value is None and goal.name in run.measured and run.measured.get("good") is False:
                lines.append(f"| {goal.label} | never | {goal}, **not met** |")
            if value is not None:
                judged = f"{goal}{'' if goal.met(value) else ', **not met**'}"
                lines.append(f"| {goal.label} | {value:{goal.form}} | {judged} |")
    return "\n".join(lines)


def main() -> None:
    pages.write_between(PAGE, BEGIN, END, f"{table(RESULTS)}\n{under_a_snapshot(RESULTS)}")
    print(f"written to {PAGE}")


if __name__ == "__main__":
    main()
