"""`make bench`: Penstock beside the queues of its field, on one machine, one Postgres and one Redis, in one run.

Prints tables, writes bench/results/field.json and, once everything was tried, the figures and the chart of
docs/benchmarks.md. Stopped by Ctrl-C, it goes on where it was when it is started again, if Penstock is the same; what
failed is tried again.
"""

import argparse
import asyncio
import hashlib
import os
import random
import shutil
from collections.abc import Callable, Iterator
from functools import cache
from importlib import metadata
from itertools import product
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.progress import BarColumn, Progress, SpinnerColumn, TaskID, TextColumn, TimeElapsedColumn, TimeRemainingColumn

from bench import field_page, field_report, figures, goals, packages, systems, valkey
from bench import machine as machines
from bench.field_goals import verdicts
from bench.field_results import Results
from bench.field_work import WORKS, Amount, Pace, Work, pace
from bench.measuring import Server
from bench.processes import ROOT, Failed
from bench.systems import System
from penstock import embedded

FOLDER = ROOT / ".cache" / "bench-field-postgres"
RESULTS = ROOT / "bench" / "results"
SETTINGS = {
    "synchronous_commit": "on", "fsync": "on", "shared_buffers": "512MB", "max_wal_size": "8GB",
    "checkpoint_timeout": "1h", "max_connections": "200",
}  # fmt: skip
"""Durable, with room; a checkpoint is made before each drain, and none comes by itself in one."""
SECONDS, QUICK_SECONDS = 2.0, 0.9


class Bench:
    """Rounds of measurements; in each, every work is done by one system after the other: neighbours are compared."""

    def __init__(self, server: Server, options: argparse.Namespace, results: Results, progress: Progress) -> None:
        self.server = server
        self.options = options
        self.results = results
        self.amount = amount(options)
        self.systems = systems.chosen(systems.FIELD, options.only)
        self._progress = progress
        self._task: TaskID = progress.add_task("", total=None)

    async def run(self) -> None:
        for system in self.systems:
            self.results.unavailable.pop(system.name, None)
            await self._get_ready(system)
        self._progress.update(self._task, total=len(list(self._left())), completed=0)
        for n, work, system in list(self._left()):
            self._tell(f"round {n + 1} of {len(self.results.rounds)}: {work.label}, {system.name}")
            try:
                known = Pace(**self.results.pace[system.name])
                found = await work.measure(self.server, system, known, self.amount)
                if system.tables:
                    # what is left in them would be vacuumed while the next is measured
                    await self.server.empty(system)
            except Failed as failure:
                found = {"failed": why_not(failure)}
            self.results.add(n, work, system, found)
            self.results.write(self.options.results)
            self._progress.advance(self._task)
        self._progress.remove_task(self._task)

    def _left(self) -> Iterator[tuple[int, Work, System]]:
        works = [work for work in WORKS if work.counts(quick=self.options.quick)]
        for n, work, system in product(range(len(self.results.rounds)), works, self.systems):
            if self.results.lacks(n, work, system) and work.name in (self.options.work or [work.name]):
                yield n, work, system

    async def _get_ready(self, system: System) -> None:
        """Brings it, makes its database, warms it up, unless an earlier run did; who cannot be had is told of."""
        if not any(system is each for _, _, each in self._left()):
            return
        try:
            self._tell(f"installing {system.name}")
            await packages.install(system.name)
            self._tell(f"warming up {system.name}")
            await self.server.create_database(system)
            if system.name not in self.results.pace:
                self.results.pace[system.name] = vars(await pace(self.server, system, self.amount))
        except Failed as failure:
            self.results.unavailable[system.name] = why_not(failure)

    def _tell(self, what: str) -> None:
        self._progress.update(self._task, description=what)


def why_not(failure: Failed) -> str:
    """The first line, and the last of what the program complained."""
    first, *complaints = [line for line in str(failure).splitlines() if line.strip()]
    return ": ".join([first, *complaints[-1:]])


def amount(options: argparse.Namespace) -> Amount:
    if options.quick:
        return Amount(QUICK_SECONDS, options.samples or 15, options.jobs)
    return Amount(SECONDS, options.samples or 100, options.jobs)


def plan(options: argparse.Namespace) -> dict[str, Any]:
    return {
        "rounds": options.rounds, "amount": vars(amount(options)), "quick": options.quick,
        "penstock": metadata.version("penstock"), "engine": digest(ROOT / "penstock"), "packages": packages.PINS,
        "settings": SETTINGS, "cores": os.cpu_count(),
    }  # fmt: skip


@cache
def digest(package: Path) -> str:
    """Of its programs and SQL, as they are at the start: figures of others than these are no figures of ours."""
    made = hashlib.sha256()
    for file in sorted(each for kind in ("*.py", "*.sql") for each in package.rglob(kind)):
        made.update(file.read_bytes())
    return made.hexdigest()[:12]


async def machine(server: Server) -> dict[str, Any]:
    here = await asyncio.to_thread(machines.machine, server.url)
    return {**here, "node": await packages.node_version(), "redis": f"Valkey {valkey.version()}"}


def options(arguments: list[str] | None = None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    positive = figures.at_least(1)
    names, works = systems.names(systems.FIELD), [work.name for work in WORKS]
    parser.add_argument("--quick", action="store_true", help="one short round of some of it: two minutes")
    parser.add_argument("--only", type=_some(names), metavar="SYSTEM,…", help=f"of {', '.join(names)}")
    parser.add_argument("--work", type=_some(works), metavar="WORK,…", help=f"of {', '.join(works)}")
    parser.add_argument("--rounds", type=positive, help="else 3, or 1 with --quick")
    parser.add_argument("--jobs", type=positive, help="of each measurement, exactly (else what takes some seconds)")
    parser.add_argument("--samples", type=positive, help="single enqueues in each round's idle latency")
    parser.add_argument("--fresh", action="store_true", help="not going on with a run that was stopped")
    parser.add_argument("--results", type=Path, help="else bench/results/field.json, with --quick field-quick.json")
    parser.add_argument(
        "--page", type=Path, help="whose figures are written (else docs/benchmarks.md if all was tried)"
    )
    parser.add_argument("--folder", type=Path, default=FOLDER, help="of the Postgres")
    parsed = parser.parse_args(arguments)
    parsed.rounds = parsed.rounds or (1 if parsed.quick else 3)
    parsed.results = parsed.results or RESULTS / ("field-quick.json" if parsed.quick else "field.json")
    return parsed


def _some(names: list[str]) -> Callable[[str], list[str]]:
    """Some of these, between commas, for argparse."""

    def some(text: str) -> list[str]:
        chosen = [name for name in text.replace(" ", ",").split(",") if name]
        for name in chosen:
            if name not in names:
                raise argparse.ArgumentTypeError(f"{name!r} is none of {', '.join(names)}")
        return chosen

    return some


def known(chosen: argparse.Namespace) -> Results:
    """What is measured already: all of a run that was stopped, of a finished one what is not asked for anew."""
    results = Results.read(chosen.results, plan(chosen))
    if chosen.fresh:
        results = Results(plan(chosen), rounds=[{} for _ in range(chosen.rounds)])
    elif finished(results):
        for system in systems.chosen(systems.FIELD, chosen.only):
            results.forget(system)
    return results


def finished(results: Results) -> bool:
    """Whether everything was measured of everybody who could be had."""
    return not any(results.lacks(*each) for each in _asked(results))


def tried(results: Results) -> bool:
    """The same, or fails: the page tells what does, and does not wait for it."""
    return not any(results.untried(*each) for each in _asked(results))


def page_of(chosen: argparse.Namespace, results: Results) -> Path | None:
    """Where the figures are to be written, if they are all there."""
    whole = tried(results) and not chosen.quick and not chosen.jobs
    return chosen.page or (field_page.PAGE if whole else None)


def _asked(results: Results) -> Iterator[tuple[int, Work, System]]:
    works = [work for work in WORKS if work.counts(quick=results.plan["quick"])]
    return product(range(len(results.rounds)), works, systems.FIELD)


def main() -> None:
    chosen = options()
    console = Console()
    # the same pauses in every run
    random.seed(1)
    results = known(chosen)
    columns = SpinnerColumn(), TextColumn("{task.description}"), BarColumn(), TimeElapsedColumn(), TimeRemainingColumn()
    try:
        if chosen.folder == FOLDER:
            shutil.rmtree(FOLDER, ignore_errors=True)
        with (
            embedded.start(chosen.folder, settings=SETTINGS) as postgres,
            valkey.started() as redis,
            Progress(*columns, console=console, transient=True) as progress,
        ):

            async def measure() -> None:
                server = await Server.at(postgres.url, redis)
                results.machine = await machine(server)
                await Bench(server, chosen, results, progress).run()

            asyncio.run(measure())
    except Failed as failure:
        raise SystemExit(str(failure)) from None
    except KeyboardInterrupt:
        raise SystemExit("stopped; the same command goes on where it was") from None
    results.write(chosen.results, goals=[vars(verdict) for verdict in verdicts(results)])
    field_report.show(console, results)
    console.print(f"written to {chosen.results}")
    if page := page_of(chosen, results):
        field_page.write(page, results)
        console.print(f"and to {page}")
    goals.end({verdict.name: verdict.met for verdict in verdicts(results)})


if __name__ == "__main__":
    main()
