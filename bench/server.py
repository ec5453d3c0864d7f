"""`make bench-server`: requests beside a bare FastAPI route doing the same query, and streams beside polling.

Prints a table and writes bench/results/server.json. What counts are the ratios: absolute rates are the machine's.
"""

import argparse
import asyncio
import json
import os
import socket
import statistics
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import uvloop
from rich.console import Console
from rich.table import Table

from bench import figures, goals, server_live
from bench.goals import Goal
from bench.http_load import load, request
from bench.processes import ROOT
from bench.server_apps import SECRET
from penstock import Penstock, embedded
from penstock.server.auth import mint

FOLDER = ROOT / ".cache" / "bench-server-postgres"
RESULTS = ROOT / "bench" / "results" / "server.json"
GOALS = (
    Goal("status_ratio", "a job's status / bare FastAPI", at_least=0.6),
    Goal("start_ratio", "a job started / bare FastAPI", at_least=0.6),
    Goal("sse_clients", "streams at the same time", at_least=5000, form=",.0f"),
    Goal("sse_idle_queries_per_s", "queries a second while nothing happens", at_most=0),
    Goal("sse_kb_per_client", "KB of memory of each stream", at_most=40, form=".1f"),
    Goal("sse_fanout_p99_ms", "ms from a report until its streams have it, p99", at_most=250, form=".1f"),
)


@contextmanager
def serving(which: str, url: str) -> Iterator[int]:
    """One of the two as a process of its own; its port."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    process = subprocess.Popen(
        [sys.executable, "-m", "bench.server_apps", which, str(port)], env=os.environ | {"BENCH_URL": url}
    )
    try:
        _wait_for(port, process)
        yield port
    finally:
        process.terminate()
        process.wait(20)


def _wait_for(port: int, process: subprocess.Popen[bytes]) -> None:
    deadline = time.monotonic() + 30
    while time.monotonic() < deadline and process.poll() is None:
        with socket.socket() as probe:
            if probe.connect_ex(("127.0.0.1", port)) == 0:
                return
        time.sleep(0.05)
    raise RuntimeError("the server did not start")


def measure_requests(url: str, *, rounds: int, seconds: float, connections: int) -> dict[str, Any]:
    """Status and start, ours and bare in turns, so that each ratio is of neighbours in time."""
    with Penstock(url) as app:
        app.migrate()

        @app.job
        async def nothing(number: int) -> None: ...

        job = nothing.using(owner="somebody").enqueue(number=1)
    token = mint(SECRET, subject="somebody")
    start = json.dumps({"kind": "nothing", "args": {"number": 7}}).encode()
    asked = {
        "status": {
            "ours": request("GET", f"/api/jobs/{job.id}", token=token),
            "bare": request("GET", f"/api/jobs/{job.id}"),
        },
        "start": {
            "ours": request("POST", "/api/jobs", token=token, body=start),
            "bare": request("POST", "/api/jobs", body=start),
        },
    }
    rates: dict[str, dict[str, list[float]]] = {what: {"ours": [], "bare": []} for what in asked}
    with serving("ours", url) as ours, serving("bare", url) as bare:
        ports = {"ours": ours, "bare": bare}
        for number in range(rounds + 1):
            for what, requests in asked.items():
                for which, port in ports.items():
                    rate = uvloop.run(
                        load(
                            port,
                            requests[which],
                            connections=connections,
                            seconds=seconds if number else min(1.0, seconds),
                        )
                    )
                    if number:  # the first round only warms up
                        rates[what][which].append(rate)
    results: dict[str, Any] = {}
    for what, measured in rates.items():
        ratios = [ours / bare for ours, bare in zip(measured["ours"], measured["bare"], strict=True)]
        results[f"{what}_ratio"] = round(statistics.median(ratios), 3)
        results[f"{what}_per_s"] = {which: round(statistics.median(each)) for which, each in measured.items()}
    return results


def options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=figures.at_least(1), default=5)
    parser.add_argument("--seconds", type=float, default=4.0, help="of each measurement of requests")
    parser.add_argument("--connections", type=figures.at_least(1), default=16)
    parser.add_argument("--clients", type=figures.at_least(1), default=5000, help="streams at the same time")
    parser.add_argument("--skip-live", action="store_true", help="requests alone, no streams")
    parser.add_argument("--folder", type=Path, default=FOLDER, help="of the server")
    parser.add_argument("--results", type=Path, default=RESULTS)
    return parser.parse_args()


def main() -> None:
    chosen = options()
    console = Console()
    # autovacuum would be counted among the queries of idle streams
    with embedded.start(chosen.folder, settings={"autovacuum": "off"}) as postgres:
        results = measure_requests(
            postgres.url, rounds=chosen.rounds, seconds=chosen.seconds, connections=chosen.connections
        )
        if not chosen.skip_live:
            results |= asyncio.run(server_live.measure(postgres.url, chosen.clients))
    table = Table("", "measured", box=None)
    for name, value in results.items():
        table.add_row(name, json.dumps(value))
    console.print(table)
    console.print(goals.table(GOALS, results))
    results["goals_met"] = goals.verdicts(GOALS, results)
    figures.merge(chosen.results, results)
    console.print(f"written to {chosen.results}")
    goals.end(results["goals_met"])


if __name__ == "__main__":
    main()
