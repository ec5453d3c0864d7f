"""`make bench-durable`: handlers that wait, beside DBOS and Absurd, in one run and on one Postgres.

A workflow of ten steps, many at once (`steps`, a second); a parent of a hundred children (`fanout`, children a second);
from an event's being emitted until the handler that waited goes on (`event_ms`, the median). And beside a hundred
thousand jobs that sleep or wait: how many are claimed in a second of Postgres' time, as a share of how many without
(`claims_beside_waiting`), and how long until one that waits goes on (`waking_ms`) and until an ordinary job begins
(`idle_ms`). Writes bench/results/durable.json, with whether the goals are met; of whom fails it tells why.
"""

import argparse
import asyncio
import json
import subprocess
import sys
from collections.abc import Mapping
from contextlib import ExitStack
from pathlib import Path

import psycopg
from rich.console import Console
from rich.table import Table

from bench import durable_waiting, figures, goals, packages, processes
from bench.goals import Goal
from penstock import embedded
from penstock.testing.database import address_of

FOLDER = processes.ROOT / ".cache" / "bench-durable-postgres"
RESULTS = processes.ROOT / "bench" / "results" / "durable.json"
OURS = "penstock"
GOALS = (
    Goal("steps_ratio", "steps a second / the best of the others", at_least=2.0),
    Goal("fanout_ratio", "children a second / the best of the others", at_least=2.0),
    Goal("event_ratio", "from an event until the handler goes on / the best of the others", at_most=1.0),
    Goal("claims_beside_waiting", "claims beside those that wait / without them", at_least=0.95),
    Goal("waking_ratio", "from an event until one of them goes on / an ordinary job begins", at_most=2.0),
)


def options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--workflows", type=figures.at_least(1), default=300)
    parser.add_argument("--parents", type=figures.at_least(1), default=10)
    parser.add_argument("--events", type=figures.at_least(1), default=50)
    parser.add_argument("--waiting", type=figures.at_least(2), default=100_000)
    parser.add_argument("--claims", type=figures.at_least(100), default=20_000, help="in all rounds, of each side")
    parser.add_argument("--rounds", type=figures.at_least(1), default=10)
    parser.add_argument("--server", metavar="URL", help="of a Postgres to use instead of one of its own")
    parser.add_argument("--results", type=Path, default=RESULTS)
    parser.add_argument("--alone", action="store_true", help="without the others")
    return parser.parse_args()


def main() -> None:
    chosen = options()
    console = Console()
    told: dict[str, dict[str, float]] = {"steps": {}, "fanout": {}, "event_ms": {}}
    failed: dict[str, str] = {}
    with ExitStack() as ending:
        server = chosen.server or ending.enter_context(embedded.start(FOLDER)).url
        for name, python in systems(chosen.alone, console):
            try:
                found = measured(fresh_database(server, f"durable_{name}"), name, python, chosen)
            except processes.Failed as failure:
                if name == OURS:
                    raise SystemExit(str(failure)) from None
                failed[name] = str(failure).strip().splitlines()[-1]
                console.print(f"{name} failed: {failed[name]}", markup=False)
                continue
            for what, value in found.items():
                told[what][name] = round(value, 2)
            console.print(name, found)
        without, beside = (fresh_database(server, f"durable_{each}") for each in ("without", "beside"))
        share = durable_waiting.claims_beside(without, beside, chosen.waiting, chosen.claims, chosen.rounds)
        waking, idle = asyncio.run(durable_waiting.waking_and_idle(beside, chosen.events))
    table = Table("", *told["steps"])
    for what, values in told.items():
        table.add_row(what, *(f"{value:,.1f}" for value in values.values()))
    console.print(table)
    console.print(f"beside {chosen.waiting:,} that wait: {share:.3f} of the claims without them")
    console.print(f"one of them goes on after {waking:.1f} ms, an ordinary job begins after {idle:.1f} ms")
    judged = ratios(told) | {"claims_beside_waiting": round(share, 3), "waking_ratio": round(waking / idle, 2)}
    console.print(goals.table(GOALS, judged))
    waits = {"waiting": chosen.waiting, "waking_ms": round(waking, 2), "idle_ms": round(idle, 2)}
    met = goals.verdicts(GOALS, judged)
    figures.merge(chosen.results, {**told, **judged, **waits, "goals_met": met, "failed": failed})
    goals.end(met)


def ratios(told: Mapping[str, Mapping[str, float]]) -> dict[str, float]:
    """Ours by the best of the others, where there is one."""
    found = {}
    for what, best in (("steps", max), ("fanout", max), ("event_ms", min)):
        if others := [value for name, value in told[what].items() if name != OURS]:
            found[f"{what.removesuffix('_ms')}_ratio"] = round(told[what][OURS] / best(others), 3)
    return found


def systems(alone: bool, console: Console) -> list[tuple[str, str]]:
    """Those that are to be had, each with the Python that has it."""
    found = [(OURS, sys.executable)]
    for name in () if alone else ("dbos", "absurd"):
        try:
            found.append((name, python_of(name)))
        except processes.Failed as failure:
            console.print(f"without {name}, which cannot be installed: {str(failure).strip().splitlines()[-1]}")
    return found


def python_of(name: str) -> str:
    asyncio.run(packages.install(name))
    return packages.python(name)


def measured(url: str, name: str, python: str, chosen: argparse.Namespace) -> dict[str, float]:
    sizes = [str(each) for each in (chosen.workflows, chosen.parents, chosen.events)]
    done = subprocess.run(
        [python, "-m", f"bench.peers.run_durable_{name}", url, *sizes],
        cwd=processes.ROOT, check=False, text=True, capture_output=True,
    )  # fmt: skip
    if done.returncode:
        raise processes.Failed(f"{name} ended with {done.returncode}\n{done.stderr}")
    found: dict[str, float] = json.loads(done.stdout.splitlines()[-1])
    return found


def fresh_database(server: str, name: str) -> str:
    with psycopg.connect(server, autocommit=True) as connection:
        connection.execute(f'drop database if exists "{name}" with (force)'.encode())
        connection.execute(f'create database "{name}"'.encode())
    return address_of(server, name)


if __name__ == "__main__":
    main()
