"""`make bench-durable`: handlers that wait, beside DBOS and Absurd, in one run and on one Postgres.

A workflow of ten steps, many at once (`steps`, a second); a parent of a hundred children (`fanout`, children a second);
from an event's being emitted until the handler that waited goes on (`event_ms`, the median). And beside a hundred
thousand jobs that sleep or wait: how many are claimed in a second of Postgres' time, as a share of how many without
(`claims_beside_waiting`), and how long until one that waits goes on (`waking_ms`) and until an ordinary job begins
(`idle_ms`). Writes bench/results/durable.json.
"""

import argparse
import asyncio
import json
import subprocess
import sys
from contextlib import ExitStack
from pathlib import Path

import psycopg
from rich.console import Console
from rich.table import Table

from bench import durable_waiting, figures, packages, processes
from penstock import embedded
from penstock.testing.database import address_of

FOLDER = processes.ROOT / ".cache" / "bench-durable-postgres"
RESULTS = processes.ROOT / "bench" / "results" / "durable.json"


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
    with ExitStack() as ending:
        server = chosen.server or ending.enter_context(embedded.start(FOLDER)).url
        for name, python in systems(chosen.alone, console):
            found = measured(fresh_database(server, f"durable_{name}"), name, python, chosen)
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
    beside_waiting = {"claims_beside_waiting": round(share, 3), "waiting": chosen.waiting}
    figures.merge(chosen.results, {**told, **beside_waiting, "waking_ms": round(waking, 2), "idle_ms": round(idle, 2)})


def systems(alone: bool, console: Console) -> list[tuple[str, str]]:
    """Those that are to be had, each with the Python that has it."""
    found = [("penstock", sys.executable)]
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
    said = subprocess.run(
        [python, "-m", f"bench.peers.run_durable_{name}", url, *sizes],
        cwd=processes.ROOT, check=True, text=True, stdout=subprocess.PIPE,
    ).stdout  # fmt: skip
    found: dict[str, float] = json.loads(said.splitlines()[-1])
    return found


def fresh_database(server: str, name: str) -> str:
    with psycopg.connect(server, autocommit=True) as connection:
        connection.execute(f'drop database if exists "{name}" with (force)'.encode())
        connection.execute(f'create database "{name}"'.encode())
    return address_of(server, name)


if __name__ == "__main__":
    main()
