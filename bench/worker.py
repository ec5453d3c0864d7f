"""`make bench-worker`: our worker beside pgqueuer, procrastinate, graphile-worker and bare SQL, on one Postgres.

Prints a table and writes bench/results/worker.json. What counts are the ratios: absolute rates are the machine's.
"""

import argparse
import asyncio
import json
import random
import shutil
import statistics
from collections import defaultdict
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.progress import BarColumn, Progress, SpinnerColumn, TaskID, TextColumn, TimeElapsedColumn

from bench import before, costs, figures, goals, machine, packages, payload, systems, worker_report
from bench.figures import percentile
from bench.measuring import Drained, Server
from bench.processes import ROOT, Failed
from bench.systems import System
from penstock import embedded

JOBS = 100_000
SHORTEST = 3.0
"""Seconds that a measured drain takes at least, or a start would weigh too much in it."""
LONGEST = 15.0
FIRST = 500
"""Jobs to see with how fast a system is; never fewer are measured."""
FOLDER = ROOT / ".cache" / "bench-worker-postgres"
NAPS, NAPPING = 10_000, 1_000


class Bench:
    """Rounds of measurements; in each the systems come one after the other, so that ratios are of neighbours."""

    def __init__(self, server: Server, chosen: list[System], options: argparse.Namespace, progress: Progress) -> None:
        self.server = server
        self.systems = chosen
        self.options = options
        self.sizes: list[int] = list(dict.fromkeys(options.payload))
        self.jobs: dict[int, dict[str, int]] = {}
        self.drains: dict[str, dict[str, list[Drained]]] = defaultdict(lambda: defaultdict(list))
        """By the name of the result, as `drain` or `drain_10k`, and the system."""
        self.idle: dict[str, list[list[float]]] = defaultdict(list)
        self.extras: dict[str, Any] = {}
        self._progress = progress
        self._task: TaskID = progress.add_task("", total=None)

    async def run(self) -> dict[str, Any]:
        await self._get_ready()
        waiting = sum(system.waits for system in self.systems)
        # two processes with the smallest arguments alone: larger ones are Postgres's matter
        kinds = [(1, size) for size in self.sizes] + [(2, self.sizes[0])]
        steps = self.options.rounds * (len(kinds) * len(self.systems) + waiting)
        self._progress.update(self._task, total=steps, completed=0)
        for n in range(1, self.options.rounds + 1):
            # by turns, for who comes first finds the disk as what was before left it
            first = n % len(self.systems)
            in_turn = [*self.systems[first:], *self.systems[:first]]
            for processes, size in kinds:
                what = f"{size:,} bytes, {'one process' if processes == 1 else 'two processes'}"
                for system in in_turn:
                    self._tell(f"round {n} of {self.options.rounds}: {what}, {system.name}")
                    drained = await self.server.drain(system, self.jobs[size][system.name], processes, size)
                    self.drains[_drain(processes, size)][system.name].append(drained)
                    self._progress.advance(self._task)
            for system in (each for each in in_turn if each.waits):
                self._tell(f"round {n} of {self.options.rounds}: idle latency, {system.name}")
                self.idle[system.name].append(await self.server.idle_latencies(system, self.options.samples))
                self._progress.advance(self._task)
        if systems.OURS in self.systems:
            await self._measure_ours_alone()
        self._progress.remove_task(self._task)
        return self.results()

    async def _get_ready(self) -> None:
        """Databases, warm caches, and for each system and size the number of jobs to measure it with."""
        rates: dict[int, dict[str, float]] = {size: {} for size in self.sizes}
        for system in self.systems:
            self._tell(f"installing {system.name}")
            await packages.install(system.name)
            await self.server.create_database(system)
            for size in self.sizes:
                self._tell(f"warming up {system.name}, {size:,} bytes")
                drained = await self.server.drain(system, FIRST, size=size)
                if drained.seconds < 0.7 and self.options.jobs > 10 * FIRST:
                    drained = await self.server.drain(system, self.options.jobs // (20 if size else 5), size=size)
                rates[size][system.name] = drained.rate
        for size, of_size in rates.items():
            longest = int(max(of_size.values()) * SHORTEST * 1.2)
            most = self.options.jobs if self.options.exact else longest if size else max(self.options.jobs, longest)
            # the slow get fewer jobs, which can only help them: their table stays small
            self.jobs[size] = {
                name: most if most / rate < LONGEST else max(FIRST, int(rate * SHORTEST * 1.5))
                for name, rate in of_size.items()
            }

    async def _measure_ours_alone(self) -> None:
        if not self.options.skip_sleep:
            self._tell(f"{NAPS:,} jobs that sleep a second, {NAPPING:,} at a time")
            seconds = (await self.server.drain(systems.NAPS, NAPS)).seconds
            self.extras["sleep_ratio"] = seconds / (NAPS / NAPPING)
        if not self.options.skip_memory:
            self._tell(f"memory over {self.options.memory_jobs:,} jobs")
            self.extras["memory_mb"] = await self.server.memory(systems.OURS, self.options.memory_jobs)

    def _tell(self, what: str) -> None:
        self._progress.update(self._task, description=what)

    def results(self) -> dict[str, Any]:
        drains = {
            key: {name: statistics.median(each.rate for each in runs) for name, runs in of_key.items()}
            for key, of_key in self.drains.items()
        }
        results: dict[str, Any] = {
            "payloads": self.sizes,
            **drains,
            "idle_ms": {
                name: {p: statistics.median(percentile(run, p) for run in runs) for p in ("p50", "p99")}
                for name, runs in self.idle.items()
            },
            **costs.results({size: self.drains[_drain(1, size)] for size in self.sizes}),
            "sleep_ratio": None,
            "memory_mb": None,
            **self.extras,
        }
        results["ratios"] = self.ratios(results["memory_mb"])
        results["rounds"] = {
            **{
                key: {name: [each.rate for each in runs] for name, runs in of_key.items()}
                for key, of_key in self.drains.items()
            },
            "idle_p50": {name: [percentile(run, "p50") for run in runs] for name, runs in self.idle.items()},
            "idle_p99": {name: [percentile(run, "p99") for run in runs] for name, runs in self.idle.items()},
        }
        return results

    def ratios(self, memory: list[float] | None) -> dict[str, float]:
        """Ours to theirs; of each round, then the median, for the machine's mood changes between rounds."""
        ratios = {}
        for key, drains in self.drains.items():
            for name in drains.keys() - {"penstock"} if "penstock" in drains else ():
                pairs = zip(drains["penstock"], drains[name], strict=True)
                ratios[f"{key}/{name}"] = statistics.median(ours.rate / theirs.rate for ours, theirs in pairs)
        others = [runs for name, runs in self.idle.items() if name not in ("penstock", before.NAME)]
        if others and "penstock" in self.idle:
            for p in ("p50", "p99"):
                ratios[f"idle_{p}"] = statistics.median(
                    percentile(ours, p) / min(percentile(run, p) for run in theirs)
                    for ours, *theirs in zip(self.idle["penstock"], *others, strict=True)
                )
        if before.NAME in self.idle and "penstock" in self.idle:
            drains = self.drains[_drain(1, self.sizes[0])]
            pairs = zip(drains["penstock"], drains[before.NAME], strict=True)
            ratios["enqueue/before"] = statistics.median(one.enqueue_rate / other.enqueue_rate for one, other in pairs)
            runs = zip(self.idle["penstock"], self.idle[before.NAME], strict=True)
            ratios["idle_p50/before"] = statistics.median(
                percentile(one, "p50") / percentile(other, "p50") for one, other in runs
            )
        if memory and len(memory) >= 3:
            third = len(memory) // 3
            ratios["memory"] = max(memory[-third:]) / max(memory[:third])
        return ratios


def _drain(processes: int, size: int) -> str:
    """The name of a result: `drain`, `drain2`, `drain_10k`."""
    return f"drain{'' if processes == 1 else processes}{payload.suffix(size)}"


def options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    positive = figures.at_least(1)
    names = systems.names(systems.WORKER)
    parser.add_argument("--jobs", type=positive, help=f"jobs in a drain of the fast ones, exactly (else ≥ {JOBS:,})")
    figures.add_payload_option(parser)
    parser.add_argument("--rounds", type=positive, default=3)
    parser.add_argument("--samples", type=positive, default=300, help="single enqueues in each round's idle latency")
    parser.add_argument("--only", nargs="+", choices=names, metavar="SYSTEM", help=", ".join(names))
    parser.add_argument("--against", metavar="COMMIT", help="beside Penstock as of that commit, too")
    parser.add_argument("--memory-jobs", type=positive, default=1_000_000)
    parser.add_argument("--skip-memory", action="store_true")
    parser.add_argument("--skip-sleep", action="store_true")
    parser.add_argument("--results", type=Path, default=ROOT / "bench" / "results" / "worker.json")
    parser.add_argument("--folder", type=Path, default=FOLDER, help="of the server")
    parsed = parser.parse_args()
    parsed.exact = parsed.jobs is not None
    parsed.jobs = parsed.jobs or JOBS
    return parsed


def main() -> None:
    chosen = options()
    console = Console()
    present = systems.chosen(systems.WORKER, chosen.only)
    if chosen.against:
        present.insert(0, before.of_commit(chosen.against))
    # the same pauses in every run
    random.seed(1)
    settings = {"synchronous_commit": "on", "fsync": "on", "shared_buffers": "512MB", "max_wal_size": "8GB"}
    columns = SpinnerColumn(), TextColumn("{task.description}"), BarColumn(), TimeElapsedColumn()
    try:
        if chosen.folder == FOLDER:
            shutil.rmtree(FOLDER, ignore_errors=True)
        with (
            embedded.start(chosen.folder, settings=settings) as postgres,
            Progress(*columns, console=console, transient=True) as progress,
        ):

            async def measure() -> dict[str, Any]:
                return await Bench(await Server.at(postgres.url), present, chosen, progress).run()

            results = asyncio.run(measure())
    except Failed as failure:
        raise SystemExit(str(failure)) from None
    except KeyboardInterrupt:
        raise SystemExit("stopped; nothing was written") from None
    results["against"] = chosen.against
    results["goals"] = worker_report.show(console, results)
    chosen.results.parent.mkdir(exist_ok=True)
    chosen.results.write_text(json.dumps({"machine": machine.here(), **results}, indent=2) + "\n")
    console.print(f"written to {chosen.results}")
    goals.end(results["goals"])


if __name__ == "__main__":
    main()
