"""`make bench-snapshot`: a steady flow of no-op jobs, while a transaction elsewhere keeps an old snapshot open.

Ours beside graphile-worker, pgqueuer and awa, one after the other on one Postgres. The snapshot is held for ten parts
of equal length; one without it comes before them, two come after. Prints a table for each system
and adds to bench/results/engine.json: what was measured of other systems, or for another time, stays. What counts are
the ratios: absolute rates and times are the machine's.
"""

import argparse
import asyncio
import shutil
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.progress import BarColumn, Progress, SpinnerColumn, TaskID, TextColumn, TimeElapsedColumn, TimeRemainingColumn
from rich.table import Table

from bench import figures, goals, machine, packages, steady, systems
from bench.figures import shown
from bench.goals import Goal
from bench.measuring import Server
from bench.processes import ROOT, Failed
from bench.systems import System
from penstock import embedded

RATE = 5_000
MINUTES = 10.0
FIRST, MORE = 500, 20_000
"""Jobs of the drain that tells what a system can do: more if the first few were done at once."""
MOST = 5
"""Tables that are named: those that grew most."""
FOLDER = ROOT / ".cache" / "bench-snapshot-postgres"
TIMES = {
    "p50_ms": "p50 ms", "p99_ms": "p99 ms", "enqueue_ms": "enqueue ms", "enqueue_p50_ms": "its p50",
    "enqueue_p99_ms": "its p99",
}  # fmt: skip
"""Columns of milliseconds: to the start of a job, and of a single enqueue."""
OURS = systems.OURS.name
GOALS = (
    Goal("snapshot_p99_ratio", "enqueue to start, p99: last part with the snapshot / first", at_most=2.0),
    Goal("snapshot_enqueue_ratio", "a single enqueue, mean: the same", at_most=1.5),
    Goal("snapshot_rate_ratio", "jobs run in the last part with it / enqueued at this rate", at_least=0.95),
)
DEAD_ROWS = Goal("dead_rows_per_job", "dead rows that a job leaves under it", at_most=2.0)
"""Its own, as it was before it was claimed and before it was finished."""
LEFT = (
    DEAD_ROWS,
    # vacuum looks once a minute, and a flow of half an hour leaves in a minute a thirtieth of what it found
    Goal("dead_rows_left", "dead rows two parts after it / when it was let go", at_most=0.2),
    Goal("reused_ratio", "bytes that a job adds after it / before it", at_most=1.2),
)
"""What is left when it ends is to be reused."""
ALL = (*GOALS, *LEFT)


class Bench:
    def __init__(self, server: Server, options: argparse.Namespace, progress: Progress) -> None:
        self.server = server
        self.options = options
        self.seconds: float = options.minutes * 60
        self._progress = progress

    async def run(self, present: list[System]) -> dict[str, dict[str, Any]]:
        """Of each system what was seen, or how it failed: the others are measured all the same."""
        total = len(present) * steady.duration(self.seconds)
        task = self._progress.add_task("", total=total)
        results = {}
        for n, system in enumerate(present):
            self._progress.update(task, completed=n * steady.duration(self.seconds))
            try:
                results[system.name] = await self._measure(system, task)
            except Failed as failure:
                results[system.name] = {"failed": str(failure)}
            # what is left in it would be vacuumed while the next is measured
            await self.server.drop_database(system)
        self._progress.remove_task(task)
        return results

    async def _measure(self, system: System, task: TaskID) -> dict[str, Any]:
        def tell(what: str) -> None:
            self._progress.update(task, description=f"{system.name}: {what}")

        tell("installing")
        await packages.install(system.name)
        tell("how fast it drains")
        await self.server.create_database(system)
        rate = self.options.rate or await self._rate(system)
        tell(f"{rate:,} jobs/s")
        before, parts = await steady.measure(
            self.server, system, rate, self.seconds, lambda seconds: self._progress.advance(task, seconds)
        )
        return {"measured_at": machine.here()["measured_at"], "rate": rate, "seconds": self.seconds / steady.PARTS,
                **ratios(parts, rate), **growth(before, parts),
                "parts": [part.figures() for part in parts]}  # fmt: skip

    async def _rate(self, system: System) -> int:
        """Half of what it drains, at most so many: what it does under a snapshot is no matter of its being full."""
        drained = await self.server.drain(system, FIRST)
        if drained.seconds < 0.7:
            drained = await self.server.drain(system, MORE)
        return min(RATE, int(drained.rate / 2))


def ratios(parts: list[steady.Part], rate: int) -> dict[str, float | None]:
    """How the last part with the snapshot compares with the first of all, by the names of the goals."""
    first, last = parts[0].figures(), next(part for part in reversed(parts) if part.held).figures()

    def ratio(name: str) -> float | None:
        return last[name] / first[name] if first[name] and last[name] is not None else None

    return {
        "snapshot_p99_ratio": ratio("p99_ms"),
        # their mean: those that come while a worker waits take another way than the rest, which a median would not see
        "snapshot_enqueue_ratio": ratio("enqueue_ms"),
        "snapshot_rate_ratio": last["run_per_s"] / rate,
    }


def growth(before: steady.Grown, parts: list[steady.Part]) -> dict[str, Any]:
    """What a job leaves behind while the snapshot is open, and what of that is reused once it is gone.

    Bytes a job are told before, under and after it: a system that keeps history grows all the time.
    """
    [first, *_], held = parts, [part for part in parts if part.held]
    release, end = held[-1].grown, parts[-1].grown
    after = parts[1 + len(held) :]
    ran = sum(part.ran for part in held)

    def bytes_a_job(since: steady.Grown, until: steady.Grown, during: list[steady.Part]) -> float:
        return (until.disk - since.disk) / max(1, sum(part.ran for part in during))

    a_job = {
        "before": bytes_a_job(before, first.grown, [first]),
        "held": bytes_a_job(first.grown, release, held),
        "after": bytes_a_job(release, end, after),
    }
    most = sorted(release.tables, key=lambda name: release.tables[name] - first.grown.tables.get(name, 0))[-MOST:]
    return {
        "dead_rows_per_job": (release.dead - first.grown.dead) / max(1, ran),
        "dead_rows_left": end.dead / max(1, release.dead),
        "bytes_per_job": a_job,
        "reused_ratio": a_job["after"] / a_job["before"] if a_job["before"] > 0 else None,
        "grew_mb": (release.disk - first.grown.disk) / 2**20,
        "tables_mb": {
            name: [round(at.tables.get(name, 0) / 2**20, 1) for at in (first.grown, release, end)]
            for name in reversed(most)
        },
    }


def show(console: Console, results: dict[str, dict[str, Any]]) -> None:
    for name, result in results.items():
        if "failed" in result:
            console.print(f"[red]{name} failed:[/] {result['failed']}")
        else:
            console.print(_parts(name, result))
    table = Table(title="last part with the snapshot / first of all", box=None)
    table.add_column("system")
    for column in ("p99", "enqueue", "rate held"):
        table.add_column(column, justify="right")
    for name, result in results.items():
        if "failed" not in result:
            table.add_row(name, *(_judged(result[goal.name], goal if name == OURS else None) for goal in GOALS))
    table.add_row("goal", *map(str, GOALS))
    console.print(table)
    console.print(_growth(results))


def _growth(results: dict[str, dict[str, Any]]) -> Table:
    table = Table(title="what is left behind, and whether it is reused", box=None)
    table.add_column("system")
    columns = (
        "dead rows a job",
        "left at the end",
        "after / before",
        "B/job before",
        "under it",
        "after it",
        "grew MB",
    )
    for column in columns:
        table.add_column(column, justify="right")
    for name, result in results.items():
        if "failed" not in result:
            table.add_row(
                name, *(_judged(result[goal.name], goal if name == OURS else None) for goal in LEFT),
                *(f"{each:,.0f}" for each in result["bytes_per_job"].values()), f"{result['grew_mb']:,.0f}",
            )  # fmt: skip
    table.add_row("goal", *map(str, LEFT))
    return table


def _parts(name: str, result: dict[str, Any]) -> Table:
    table = Table(title=f"{name}, {result['rate']:,} jobs/s, in parts of {result['seconds']:.3g} s", box=None)
    table.add_column("snapshot")
    for column in (*TIMES.values(), "jobs/s", "dead rows", "MB"):
        table.add_column(column, justify="right")
    for n, part in enumerate(result["parts"]):
        table.add_row(
            "open" if part["held"] else "let go" if n else "none yet",
            *(shown(part[name], ",.1f") for name in TIMES),
            f"{part['run_per_s']:,.0f}", f"{part['dead_rows']:,}", f"{part['disk_mb']:,.0f}",
        )  # fmt: skip
    return table


def _judged(value: float | None, goal: Goal | None) -> str:
    return shown(value, ".2f") if value is None or goal is None else goal.colour(value)


def named(minutes: float) -> str:
    """What the results of so long a run are called."""
    return "snapshot" if minutes == MINUTES else f"snapshot_{minutes:g}_minutes"


def written(results: dict[str, dict[str, Any]], minutes: float) -> dict[str, Any]:
    """What goes into the file: all of each system; of the usual time our ratios by their names too, and whether they
    are what they should be."""
    ours, called = results.get(OURS, {}), named(minutes)
    judged = {goal.name: ours[goal.name] for goal in ALL if ours.get(goal.name) is not None}
    if not judged:
        return {called: results}
    told = {f"{called}_goals_met": goals.verdicts(ALL, judged)}
    return {called: results, **told, **({goal.name: ours[goal.name] for goal in GOALS} if minutes == MINUTES else {})}


def _minutes(text: str) -> float:
    try:
        minutes = float(text)
    except ValueError:
        minutes = 0.0
    if not 0.01 <= minutes <= 24 * 60:
        raise argparse.ArgumentTypeError(f"{text!r} is no number of minutes from 0.01 on")
    return minutes


def options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    names = systems.names(systems.STEADY)
    parser.add_argument(
        "--minutes", type=_minutes, default=MINUTES, help="for which the snapshot is held, of each system"
    )
    parser.add_argument(
        "--rate", type=figures.at_least(1), help=f"jobs a second (else {RATE:,}, or half of what it drains if less)"
    )
    parser.add_argument(
        "--systems", "--only", dest="only", nargs="+", choices=names, metavar="SYSTEM", help=", ".join(names)
    )
    parser.add_argument("--results", type=Path, default=ROOT / "bench" / "results" / "engine.json")
    parser.add_argument("--folder", type=Path, default=FOLDER, help="of the server")
    return parser.parse_args()


def main() -> None:
    chosen = options()
    console = Console()
    present = systems.chosen(systems.STEADY, chosen.only)
    settings = {
        "synchronous_commit": "on", "fsync": "on", "shared_buffers": "512MB", "max_wal_size": "8GB",
        # one that came in the last minute and not in the first would be blamed on the snapshot
        "checkpoint_timeout": "1h",
    }  # fmt: skip
    columns = SpinnerColumn(), TextColumn("{task.description}"), BarColumn(), TimeElapsedColumn(), TimeRemainingColumn()
    try:
        if chosen.folder == FOLDER:
            shutil.rmtree(FOLDER, ignore_errors=True)
        with (
            embedded.start(chosen.folder, settings=settings) as postgres,
            Progress(*columns, console=console, transient=True) as progress,
        ):

            async def measure() -> dict[str, dict[str, Any]]:
                return await Bench(await Server.at(postgres.url), chosen, progress).run(present)

            results = asyncio.run(measure())
    except Failed as failure:
        raise SystemExit(str(failure)) from None
    except KeyboardInterrupt:
        raise SystemExit("stopped; nothing was written") from None
    show(console, results)
    figures.merge(chosen.results, written(results, chosen.minutes), by_system=named(chosen.minutes))
    console.print(f"written to {chosen.results}")
    if all("failed" in result for result in results.values()):
        raise SystemExit("none could be measured")


if __name__ == "__main__":
    main()
