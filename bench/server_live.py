"""Streams in numbers: what a watcher costs the server in memory, the database in queries, and how soon it is told.

`measure(url)` for a migrated database on a server whose autovacuum is off, or it is counted too.
By itself: python -m bench.server_live --clients 5000
"""

import argparse
import asyncio
import json
import resource
import secrets
import select
import socket
import statistics
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any
from urllib.parse import urlsplit
from uuid import UUID

import psycopg

from bench import proc, processes
from penstock import Penstock, embedded
from penstock.engine import commands
from penstock.job import ClaimedJob, Lease, NewJob
from tests.kit import saying

STATISTICS = 11.0
"""Seconds after which an idle session has told its statistics: Postgres lets it wait for ten."""
IDLE = 10.0
UPDATES = 20
BETWEEN = 0.5
POLLERS = 200
POLL_EVERY = 0.5


class Clients:
    """Sockets that read streams, without a library in between: they must cost less than what they measure."""

    def __init__(self, port: int, key: str, source: str = "127.0.0.1") -> None:
        self._port = port
        self._source = source
        self._key = key
        self._sockets: dict[int, socket.socket] = {}
        self._poll = select.epoll()

    def open(self, jobs: Sequence[UUID], at_once: int = 100) -> None:
        """One for each of these jobs, and each has been told the state of its job."""
        for start in range(0, len(jobs), at_once):
            for job in jobs[start : start + at_once]:
                wire = socket.create_connection(("127.0.0.1", self._port), source_address=(self._source, 0))
                wire.sendall(
                    f"GET /api/jobs/{job}/stream HTTP/1.1\r\nHost: bench\r\nAccept: text/event-stream\r\n"
                    f"Authorization: Bearer {self._key}\r\n\r\n".encode()
                )
                wire.setblocking(False)
                self._sockets[wire.fileno()] = wire
                self._poll.register(wire, select.EPOLLIN)
            self.hear(b"event: progress", min(at_once, len(jobs) - start))

    def hear(self, what: bytes, count: int, within: float = 60.0) -> list[float]:
        """When each of so many clients read this."""
        times: dict[int, float] = {}
        deadline = time.perf_counter() + within
        while len(times) < count:
            ready = self._poll.poll(1.0, 1024)
            for fd, _ in ready:
                data = self._sockets[fd].recv(65536)
                if not data:
                    raise RuntimeError("the server closed a stream")
                if what in data:
                    times[fd] = time.perf_counter()
            if time.perf_counter() > deadline:
                raise TimeoutError(f"{len(times)} of {count} clients heard {what!r}")
        return list(times.values())

    def close(self) -> None:
        for wire in self._sockets.values():
            wire.close()
        self._sockets.clear()
        self._poll.close()


class Jobs:
    """Running jobs, whose progress is reported from here."""

    def __init__(self, app: Penstock, count: int) -> None:
        self._engine = app.engine
        self._lease: Lease = self._engine.run(commands.OpenLease("bench", seconds=3600))
        self._engine.enqueue([NewJob(kind="watched", queue="watched") for _ in range(count)])
        self.claimed: list[ClaimedJob] = []
        while jobs := self._engine.run(commands.Claim(self._lease, "watched", 500)):
            self.claimed += jobs
        self._connection = psycopg.connect(app.url(), autocommit=True)

    def report(self, job: ClaimedJob, percent: float, message: str) -> None:
        self.report_all([job], [{"percent": percent, "message": message}])

    def report_all(self, jobs: Sequence[ClaimedJob], said: Sequence[Mapping[str, Any]]) -> None:
        self._engine.run(saying.report_progress(self._lease, jobs, said))

    def end(self) -> None:
        self._engine.run(saying.complete(self._lease, self.claimed, ()))
        self._engine.run(commands.CloseLease(self._lease))
        self._connection.close()


def transactions(url: str) -> int:
    """Committed in the database so far; read from another one, so that the reading is not counted."""
    name = urlsplit(url).path.removeprefix("/")
    elsewhere = urlsplit(url)._replace(path="/postgres").geturl()
    with psycopg.connect(elsewhere) as connection:
        row = connection.execute(
            "select xact_commit + xact_rollback from pg_stat_database where datname = %s", [name]
        ).fetchone()
    assert row is not None
    return int(row[0])


async def measure(url: str, clients: int = 5000, jobs: int = 1) -> dict[str, float]:
    """So many clients on one server process, spread over so many jobs."""
    allow_files(clients + 200)
    app = Penstock(url)
    key = secrets.token_hex(16)
    command = (sys.executable, "-m", "bench.live_server", url, key)
    watched = await asyncio.to_thread(Jobs, app, jobs)
    async with processes.started("the live server", command) as server:
        [port] = await server.hear("ready")
        opened = Clients(port, key)
        warm = Clients(port, key)
        try:
            await asyncio.to_thread(warm.open, [watched.claimed[0].id] * 20)
            before = proc.resident_mb(server.pid)
            targets = [watched.claimed[n % jobs].id for n in range(clients)]
            started = time.perf_counter()
            await asyncio.to_thread(opened.open, targets)
            took = time.perf_counter() - started
            after = proc.resident_mb(server.pid)
            assert before is not None
            assert after is not None
            warm.close()
            figures: dict[str, float] = {
                "sse_clients": clients,
                "sse_jobs": jobs,
                "sse_opened_per_s": round(clients / took),
                "sse_kb_per_client": round((after - before) * 1024 / clients, 1),
            }
            figures |= await asyncio.to_thread(_fan_out, watched, opened, clients, jobs)
            resident = proc.resident_mb(server.pid)
            assert resident is not None
            figures["sse_kb_per_client_after_updates"] = round((resident - before) * 1024 / clients, 1)
            figures |= await _queries(url, watched, jobs)
        finally:
            opened.close()
    figures |= await _polling_design(app, url, watched.claimed[0].id, clients, figures)
    await asyncio.to_thread(watched.end)
    await app.aclose()
    return figures


def _fan_out(watched: Jobs, opened: Clients, clients: int, jobs: int) -> dict[str, float]:
    """From before the report is sent to when each of the job's clients has read of it."""
    latencies: list[float] = []
    for n in range(UPDATES):
        job = watched.claimed[n % jobs]
        mark = f"update {n}."
        count = len(range(n % jobs, clients, jobs))
        started = time.perf_counter()
        watched.report(job, n, mark)
        latencies += [(each - started) * 1000 for each in opened.hear(mark.encode(), count)]
        time.sleep(0.2)
    latencies.sort()
    return {
        "sse_fanout_p50_ms": round(statistics.median(latencies), 1),
        "sse_fanout_p99_ms": round(latencies[int(len(latencies) * 0.99)], 1),
    }


async def _queries(url: str, watched: Jobs, jobs: int) -> dict[str, float]:
    """A second while nothing happens, and while each watched job reports twice a second."""
    await asyncio.sleep(STATISTICS)
    before = await asyncio.to_thread(transactions, url)
    await asyncio.sleep(IDLE + STATISTICS)
    idle = await asyncio.to_thread(transactions, url) - before

    rounds = round(IDLE / BETWEEN)
    reporting = watched.claimed[: min(jobs, 20)]
    before = await asyncio.to_thread(transactions, url)
    for n in range(rounds):
        for job in reporting:
            await asyncio.to_thread(watched.report, job, 50 + n, "busy")
        await asyncio.sleep(BETWEEN)
    await asyncio.sleep(STATISTICS)
    busy = await asyncio.to_thread(transactions, url) - before - rounds * len(reporting)
    return {
        "sse_idle_queries_per_s": round(idle / IDLE, 2),
        "sse_busy_queries_per_s": round(busy / (rounds * BETWEEN), 2),
    }


async def _polling_design(
    app: Penstock, url: str, job: UUID, clients: int, figures: dict[str, float]
) -> dict[str, float]:
    """Each client asks the database twice a second. Measured with a few, whose rate is multiplied."""
    before = await asyncio.to_thread(transactions, url)
    until = time.perf_counter() + IDLE

    async def poll(n: int) -> None:
        await asyncio.sleep(n / POLLERS * POLL_EVERY)
        while time.perf_counter() < until:
            await app.engine.arun(commands.SeeJob(job))
            await asyncio.sleep(POLL_EVERY)

    await asyncio.gather(*(poll(n) for n in range(POLLERS)))
    await asyncio.sleep(STATISTICS)
    each = (await asyncio.to_thread(transactions, url) - before) / IDLE / POLLERS
    return {
        "poll_queries_per_s": round(each * clients),
        "poll_design_queries_ratio": round(each * clients / max(figures["sse_busy_queries_per_s"], 0.1)),
    }


def allow_files(count: int) -> None:
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft < count:
        resource.setrlimit(resource.RLIMIT_NOFILE, (min(count, hard), hard))


async def main(clients: int, jobs: Sequence[int]) -> None:
    with TemporaryDirectory(prefix="penstock-bench") as folder, embedded.start(Path(folder)) as server:
        with psycopg.connect(server.url, autocommit=True) as connection:
            connection.execute("alter system set autovacuum = off")
            connection.execute("select pg_reload_conf()")
        with Penstock(server.url, migrate=True) as app:
            url = app.url()
        for count in jobs:
            print(json.dumps(await measure(url, clients, count), indent=2))


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--clients", type=int, default=5000)
    parser.add_argument("--jobs", type=int, nargs="*", default=[1])
    given = parser.parse_args()
    asyncio.run(main(given.clients, given.jobs))
