"""`make bench-clients`: what a client costs, and what a million of them need.

Some hundreds poll and some thousands hold streams, each on a job of their own, against API processes as `penstock
server` runs them, on the loopback. Of a poll, a start, a stream and an update it tells the CPU of the API and of
Postgres, memory, transactions and how long it took. Writes bench/results/clients.json and, of a run at the usual sizes,
what follows for a million into docs/scale.md. CPU is counted, not time: other programs of the machine add little to it.
"""

import argparse
import asyncio
import json
import random
import secrets
import sys
import time
from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import Any

import uvloop
from rich.console import Console

from bench import client_needs, figures, machine, pages, proc, processes, server_live
from bench.client_load import Tally, poll, source_of
from bench.figures import percentile
from bench.http_load import request
from bench.processes import ROOT, Program
from bench.server_apps import SECRET
from penstock import Penstock, embedded
from penstock.job import NewJob
from penstock.server import ServerSettings
from penstock.server.auth import mint

FOLDER = ROOT / ".cache" / "bench-clients-postgres"
RESULTS = ROOT / "bench" / "results" / "clients.json"
PAGE = ROOT / "docs" / "scale.md"
BEGIN, END = "<!-- written by make bench-clients -->", "<!-- until here -->"
EVERY = 1.0
"""Seconds between a client's polls, as in the first seed; who asks less often than every five connects anew."""
OWNERS = 100
AT_ONCE = 8
"""Connections that keep a process busy."""
UPDATES = 100
"""Jobs that report progress at a time, of those that are watched."""


class Meter:
    """CPU and transactions from one reading to the next."""

    def __init__(self, url: str, postmaster: int, apis: Sequence[Program]) -> None:
        self._url = url
        self._postmaster = postmaster
        self._apis = apis
        self.megabytes = 0.0
        self._last = (0.0, 0.0, 0, 0.0)

    async def spent(self, *, settle: bool = False) -> dict[str, float]:
        """Since the last time. `settle` waits until idle sessions have told how many transactions they made."""
        api, postgres = self._cpu()
        megabytes = sum(proc.resident_mb(each.pid) or 0.0 for each in self._apis)
        if settle:
            await asyncio.sleep(server_live.STATISTICS)
        made = await asyncio.to_thread(server_live.transactions, self._url)
        now = (api, postgres, made, megabytes)
        spent = dict(zip(("api", "postgres", "transactions", "mb"), map(_minus, now, self._last), strict=True))
        self._last = (*self._cpu(), made, megabytes)
        self.megabytes = megabytes
        return spent

    def _cpu(self) -> tuple[float, float]:
        api = sum(proc.cpu_seconds(each.pid) or 0.0 for each in self._apis)
        return api, proc.family_cpu_seconds(self._postmaster) or 0.0


def _minus(now: float, before: float) -> float:
    return now - before


class Bench:
    def __init__(self, app: Penstock, meter: Meter, ports: Sequence[int], options: argparse.Namespace) -> None:
        self.app = app
        self.meter = meter
        self.ports = ports
        self.options = options

    async def polling(self, requests: Sequence[bytes], *, kept: bool = True) -> dict[str, float]:
        """Of one request: what it takes at the sampled rate, and what it costs where all processes are busy with it. A
        process that is woken for each takes more for it, which is no measure for one that has much to do."""
        await poll(self.ports, requests, clients=20, every=EVERY, seconds=1.5, kept=kept)
        await self.meter.spent(settle=True)
        seconds = self.options.seconds
        sampled = await poll(
            self.ports, requests, clients=self.options.pollers, every=EVERY, seconds=seconds, kept=kept
        )
        asked = _answered(sampled)
        spent = await self.meter.spent(settle=True)
        began = time.perf_counter()
        busy = await poll(
            self.ports, requests, clients=AT_ONCE * len(self.ports), every=0, seconds=seconds / 2, kept=kept
        )
        took = time.perf_counter() - began
        full = await self.meter.spent()
        answered = _answered(busy)
        return {
            "sampled_per_s": round(asked / seconds, 1), "connections": self.options.pollers,
            **{f"{p}_ms": round(percentile(sampled.took_ms, p), 2) for p in ("p50", "p99")},
            "transactions": round(spent["transactions"] / asked, 2),
            "kb": round(max(0.0, spent["mb"]) * 1024 / self.options.pollers, 1),
            "sampled_api_us": round(spent["api"] / asked * 1e6),
            "sampled_postgres_us": round(spent["postgres"] / asked * 1e6),
            "postgres_cpu": round(full["postgres"] / took, 2),
            "per_s_of_a_process": round(answered / took / len(self.ports)),
            "api_us": round(full["api"] / answered * 1e6), "postgres_us": round(full["postgres"] / answered * 1e6),
        }  # fmt: skip

    async def streams(self, key: str) -> dict[str, float]:
        """One for each of so many jobs on every process, of which some report progress."""
        count = self.options.streams * len(self.ports)
        watched = await asyncio.to_thread(server_live.Jobs, self.app, count)
        opened = [server_live.Clients(port, key, source_of(n)) for n, port in enumerate(self.ports)]
        try:
            await self.meter.spent(settle=True)
            began = time.perf_counter()
            for n, clients in enumerate(opened):
                await asyncio.to_thread(clients.open, [job.id for job in watched.claimed[n :: len(self.ports)]])
            took = time.perf_counter() - began
            opening = await self.meter.spent(settle=True)
            await asyncio.sleep(self.options.seconds)
            idle = await self.meter.spent(settle=True)
            idle_seconds = self.options.seconds + server_live.STATISTICS
            waited = await self._updates(watched, opened)
            told = await self.meter.spent(settle=True)
        finally:
            for clients in opened:
                clients.close()
            await asyncio.to_thread(watched.end)
        return {
            "streams": count, "opened_per_s": round(count / took), "kb": round(opening["mb"] * 1024 / count, 1),
            "open_api_us": round(opening["api"] / count * 1e6),
            "open_postgres_us": round(opening["postgres"] / count * 1e6),
            "open_transactions": round(opening["transactions"] / count, 2),
            "idle_api_us": round(idle["api"] / count / idle_seconds * 1e6, 2),
            "idle_transactions_per_s": round(idle["transactions"] / idle_seconds, 2),
            "updates": len(waited), "update_p50_ms": round(percentile(waited, "p50"), 1),
            "update_p99_ms": round(percentile(waited, "p99"), 1),
            "update_api_us": round(told["api"] / len(waited) * 1e6),
            "update_postgres_us": round(told["postgres"] / len(waited) * 1e6),
            "update_transactions": round(told["transactions"] / len(waited), 2),
        }  # fmt: skip

    async def _updates(self, watched: server_live.Jobs, opened: Sequence[server_live.Clients]) -> list[float]:
        """Milliseconds from before a report to when its client has read of it."""
        waited: list[float] = []
        until = time.perf_counter() + self.options.seconds
        number = 0
        while time.perf_counter() < until:
            number += 1
            mark = f"update {number}."
            at_once = min(UPDATES, len(watched.claimed))
            chosen = random.sample(range(len(watched.claimed)), at_once)
            jobs = [watched.claimed[n] for n in chosen]
            by_process = [sum(n % len(opened) == place for n in chosen) for place in range(len(opened))]
            sent = time.perf_counter()
            said = [{"percent": number % 100, "message": mark}] * at_once
            hearing = [
                asyncio.create_task(asyncio.to_thread(clients.hear, mark.encode(), count))
                for clients, count in zip(opened, by_process, strict=True)
            ]
            await asyncio.to_thread(watched.report_all, jobs, said)
            for heard in hearing:
                waited += [(each - sent) * 1000 for each in await heard]
            await asyncio.sleep(max(0.0, sent + 0.5 - time.perf_counter()))
        return waited


def _answered(tally: Tally) -> int:
    wrong = {status: count for status, count in tally.statuses.items() if status not in (200, 202, 304)}
    if wrong or tally.lost:
        raise processes.Failed(f"answers with {wrong}, {tally.lost} connections lost")
    return sum(tally.statuses.values())


async def _etag(port: int, asked: bytes) -> str:
    """Of what it answers now."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(asked)
    head = (await reader.readuntil(b"\r\n\r\n")).decode()
    writer.close()
    return next(line.split(": ", 1)[1] for line in head.split("\r\n") if line.lower().startswith("etag: "))


async def measure(url: str, postmaster: int, options: argparse.Namespace, console: Console) -> dict[str, Any]:
    key = secrets.token_hex(16)
    async with Penstock(url) as app, _apis(url, key, options.processes) as apis:
        ports = [port for _, port in apis]
        meter = Meter(url, postmaster, [program for program, _ in apis])
        bench = Bench(app, meter, ports, options)
        found: dict[str, Any] = {"processes": options.processes, "seconds": options.seconds}
        jobs = [NewJob(kind="nothing", owner=f"owner {n}", args=b'{"number":1}') for n in range(OWNERS)]
        await app.engine.aenqueue(jobs)
        tokens = [mint(SECRET, subject=job.owner or "") for job in jobs]
        asks = [request("GET", f"/api/jobs/{job.id}", token=token) for job, token in zip(jobs, tokens, strict=True)]
        start = json.dumps({"kind": "nothing", "args": {"number": 7}}).encode()
        console.print("polling")
        found["poll"] = await bench.polling(asks)
        found["process_mb"] = round(meter.megabytes / len(apis), 1)
        # the same job is known: nothing but its version is looked up again
        known = [
            each.replace(b"\r\n\r\n", f"\r\nIf-None-Match: {await _etag(ports[0], each)}\r\n\r\n".encode())
            for each in asks
        ]
        found["poll_unchanged"] = await bench.polling(known)
        found["poll_new_connection"] = await bench.polling(asks, kept=False)
        console.print("starting jobs")
        found["start"] = await bench.polling(
            [request("POST", "/api/jobs", token=token, body=start) for token in tokens]
        )
        console.print("streams")
        found["stream"] = await bench.streams(key)
        found["connections_per_process"] = ServerSettings().max_connections
    return found


@asynccontextmanager
async def _apis(url: str, key: str, count: int) -> AsyncIterator[list[tuple[Program, int]]]:
    command = (sys.executable, "-m", "bench.client_server", url, key, SECRET)
    async with AsyncExitStack() as stack:
        started = []
        for n in range(count):
            program = await stack.enter_async_context(processes.started(f"API process {n}", command))
            [port] = await program.hear("ready")
            started.append((program, port))
        yield started


def written(costs: dict[str, Any], clients: int) -> str:
    """What stands between the marks of docs/scale.md."""
    rows = [
        f"{machine.told(costs['machine'])}. Clients and servers share the cores.",
        "",
        "| | API, µs of CPU | Postgres, µs of CPU | transactions | p50 | p99 |", "|---|---|---|---|---|---|",
        *(
            f"| {label} | {cost['api_us']:,} | {cost['postgres_us']:,} | {cost['transactions']:g} |"
            f" {cost['p50_ms']:,} ms | {cost['p99_ms']:,} ms |"
            for label, cost in (
                ("a poll, over a connection that is kept", costs["poll"]),
                ("the same, not changed (`304`)", costs["poll_unchanged"]),
                ("the same, over a new connection", costs["poll_new_connection"]),
                ("a start", costs["start"]),
            )
        ),
    ]  # fmt: skip
    stream = costs["stream"]
    rows += [
        f"| a stream opened | {stream['open_api_us']:,} | {stream['open_postgres_us']:,} |"
        f" {stream['open_transactions']:g} | | |",
        f"| an update told, its report included | {stream['update_api_us']:,} | {stream['update_postgres_us']:,} |"
        f" {stream['update_transactions']:g} | {stream['update_p50_ms']:,} ms | {stream['update_p99_ms']:,} ms |",
        "",
        f"A stream takes {stream['kb']:g} KB of the process, a process {costs['process_mb']:g} MB without any;"
        f" {stream['streams']:,} silent streams made {stream['idle_transactions_per_s']:g} transactions a second and"
        f" took {stream['idle_api_us']:g} µs of CPU a second each. Times are of {costs['poll']['connections']:,}"
        f" clients that asked every second of {costs['processes']} API processes; CPU is theirs when they had"
        f" nothing else to do and {costs['poll']['per_s_of_a_process']:,} polls a second went through each.",
        "",
        client_needs.table(clients, costs),
    ]
    return "\n".join(rows)


USUAL = {"clients": 1_000_000, "pollers": 300, "streams": 4_000, "processes": 2, "seconds": 20.0}
"""Sizes of a run that the page is about."""


def is_whole(chosen: argparse.Namespace) -> bool:
    return all(getattr(chosen, name) == size for name, size in USUAL.items())


def options(arguments: Sequence[str] | None = None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--clients", type=figures.at_least(1), help="for which needs are told")
    parser.add_argument("--pollers", type=figures.at_least(10), help="clients that poll every second")
    parser.add_argument("--streams", type=figures.at_least(10), help="of each API process")
    parser.add_argument("--processes", type=figures.at_least(1), help="API processes")
    parser.add_argument("--seconds", type=float, help="of each measurement")
    parser.add_argument("--page", type=Path, help="that is written into (else docs/scale.md, of a run at these sizes)")
    parser.add_argument("--folder", type=Path, default=FOLDER, help="of the server")
    parser.add_argument("--results", type=Path, default=RESULTS)
    parser.set_defaults(**USUAL)
    return parser.parse_args(arguments)


def main() -> None:
    chosen = options()
    console = Console()
    server_live.allow_files(chosen.streams * chosen.processes + chosen.pollers + 500)
    # autovacuum would be counted too
    settings = {"autovacuum": "off", "shared_buffers": "256MB", "max_connections": "200"}
    try:
        with embedded.start(chosen.folder, settings=settings) as postgres:
            Penstock(postgres.url).migrate()
            here = machine.machine(postgres.url)
            found = uvloop.run(measure(postgres.url, _postmaster(postgres.url), chosen, console))
    except processes.Failed as failure:
        raise SystemExit(str(failure)) from None
    except KeyboardInterrupt:
        raise SystemExit("stopped; nothing was written") from None
    found["machine"] = here
    chosen.results.parent.mkdir(parents=True, exist_ok=True)
    chosen.results.write_text(json.dumps(found, indent=2) + "\n")
    text = written(found, chosen.clients)
    console.print(text, markup=False)
    console.print(f"written to {chosen.results}")
    if page := chosen.page or (PAGE if is_whole(chosen) else None):
        pages.write_between(page, BEGIN, END, text)
        console.print(f"and to {page}")


def _postmaster(url: str) -> int:
    import psycopg

    with psycopg.connect(url) as connection:
        parent = proc.parent_of(connection.info.backend_pid)
    if parent is None:
        raise SystemExit("there is no /proc here: nothing tells what CPU a process took")
    return parent


if __name__ == "__main__":
    main()
