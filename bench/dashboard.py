"""`make bench-dashboard`: every page of the dashboard over a million live and ten million finished jobs.

Fills a database, looks at every page with what people look for, and tells what each query took; then leaves a hundred
dashboards open and counts the queries. Writes bench/results/dashboard.json.
"""

import argparse
import asyncio
import socket
import statistics
import threading
import time
from collections import defaultdict
from collections.abc import AsyncIterator, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager, contextmanager
from datetime import date
from hashlib import sha256
from pathlib import Path
from typing import Any

import httpx
import psycopg
import uvicorn
from psycopg import sql
from psycopg.conninfo import make_conninfo
from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
    track,
)
from rich.table import Table

from bench import dashboard_rows, figures, goals
from bench.goals import Goal
from bench.processes import ROOT
from penstock import Penstock, embedded
from penstock.engine import commands
from penstock.engine.postgres.migrate import migrate_on
from penstock.server import Server, ServerSettings
from penstock.server.dashboard.answers import SharedAnswers
from penstock.server.dashboard.dashboard import NAVIGATION

FOLDER = ROOT / ".cache" / "bench-dashboard-postgres"
RESULTS = ROOT / "bench" / "results" / "dashboard.json"
KEY = "a service key of the benchmark"
TIMES = 7
AT_ONCE = 2
"""Connections that fill the database."""
OPEN = 100
GOALS = (
    Goal("slowest_ms", "the slowest query of any page, median of its looks, in ms", at_most=100.0, form=".1f"),
    Goal("queries_per_s", f"queries a second of {OPEN} open dashboards", at_most=5.0),
)
SEARCHES = (
    "", "kind=kind 3", "kind=rare", "queue=queue 9", "owner=owner 10", "owner=nobody", "org=org 10",
    "org=org 10&state=failed", "state=failed", "state=failed&queue=queue 0", "state=running", "state=scheduled",
    "state=blocked", "state=cancelled", "state=succeeded", "state=succeeded&state=failed&kind=kind 1",
    "error=timed out", "error=host 7:", "error=nowhere", "since=24h&kind=rare", "id=01",
)  # fmt: skip


class Timed:
    """What each query of an application took, in milliseconds, by its name."""

    def __init__(self, app: Penstock) -> None:
        self.took: dict[str, list[float]] = defaultdict(list)
        self._run = app.engine.arun
        app.engine.arun = self._timed  # type: ignore[method-assign]

    async def _timed(self, asked: Any) -> Any:
        began = time.perf_counter()
        try:
            return await self._run(asked)
        finally:
            self.took[type(asked).__name__].append((time.perf_counter() - began) * 1000)

    def taken(self) -> dict[str, list[float]]:
        took, self.took = self.took, defaultdict(list)
        return took


def filled(url: str, live: int, finished: int, console: Console) -> str:
    """The database of an earlier run, if it holds just this; else a new one. The id of a flow in it."""
    with psycopg.connect(url, autocommit=True) as connection:
        noted = "select shobj_description(oid, 'pg_database') from pg_database where datname = 'dashboard'"
        found = connection.execute(noted).fetchone()
        key = _content(live, finished)
        if found and found[0] and found[0].startswith(key):
            console.print("its database is there already: --fresh fills another")
            return str(found[0].removeprefix(key))
        connection.execute("drop database if exists dashboard with (force)")
        connection.execute("create database dashboard")
        flow = fill(make_conninfo(url, dbname="dashboard"), live, finished, console)
        connection.execute(sql.SQL("comment on database dashboard is {}").format(key + flow))
    return flow


def _content(live: int, finished: int) -> str:
    """What such a database was made by and from: another schema or another day is another one."""
    made = sha256(b"".join(path.read_bytes() for path in sorted((ROOT / "penstock" / "sql").rglob("*.sql"))))
    made.update(Path(dashboard_rows.__file__).read_bytes())
    return f"{live} live, {finished} finished, {date.today()}, {made.hexdigest()[:12]}, flow "


def fill(target: str, live: int, finished: int, console: Console) -> str:
    columns = TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn()
    with psycopg.connect(target) as connection:
        migrate_on(connection)
        connection.execute(dashboard_rows.partitions().encode())
    with (
        Progress(*columns, TimeRemainingColumn(), console=console, transient=True) as progress,
        psycopg.connect(target, autocommit=True) as connection,
    ):
        task = progress.add_task("filling", total=live + finished)
        parts = dashboard_rows.parts(live, finished)
        taking = threading.Lock()

        def take() -> None:
            with psycopg.connect(target, autocommit=True) as own:
                while True:
                    with taking:
                        part = next(parts, None)
                    if part is None:
                        return
                    for text in part[1]:
                        own.execute(text.encode())
                    progress.advance(task, part[0])

        with ThreadPoolExecutor(AT_ONCE) as pool:
            for done in [pool.submit(take) for _ in range(AT_ONCE)]:
                done.result()
        rest = [*dashboard_rows.past(), "vacuum analyze"]
        task = progress.add_task("the past, and vacuum", total=len(rest))
        for text in rest:
            connection.execute(text.encode())
            progress.advance(task)
        [(flow,)] = connection.execute(dashboard_rows.flow().encode()).fetchall()
    return str(flow)


async def pages_of(app: Penstock, flow: str) -> list[str]:
    """Every page, and what people look for."""
    found = await app.engine.arun(commands.SearchJobs({"state": "failed"}, None, 1))
    job = found.jobs[0].id if found.jobs else flow
    searches = [f"/jobs?{search}" for search in SEARCHES]
    # those of the menu, whatever is added to it
    menu = [page.path for page in NAVIGATION]
    # purges what is not there: a line to look at, and nothing changed
    operation = await app.operator("the benchmark").apurge(queue="nobody", state="failed")
    return [
        *menu, *searches, f"/jobs/{job}", f"/jobs/{flow}", f"/flows/{flow}", "/queues/queue 0", "/usage?org=org 10",
        "/?over=7d", "/errors?over=7d", f"/operations/{operation.id}",
        "/jobs/change?action=retry&state=failed", "/jobs/change?action=cancel&kind=kind 3",
        "/jobs/change?action=purge&state=succeeded",
    ]  # fmt: skip


async def look_at(
    app: Penstock, client: httpx.AsyncClient, timed: Timed, flow: str, times: int, console: Console
) -> list[dict[str, Any]]:
    rows = []
    # what Prometheus asks for every few seconds is no page, and is held to the same
    pages = [*await pages_of(app, flow), "/metrics"]
    timed.taken()
    for page in track(pages, "looking at pages", console=console, transient=True):
        took: dict[str, list[float]] = defaultdict(list)
        for _ in range(times):
            answer = await client.get(page, headers={"apikey": KEY} if page == "/metrics" else None)
            answer.raise_for_status()
            for query, each in timed.taken().items():
                took[query] += each
        rows += [
            {"page": page, "query": query, "ms": round(statistics.median(each), 2), "most_ms": round(max(each), 2)}
            for query, each in took.items()
        ]
    return rows


@asynccontextmanager
async def serving(app: Penstock) -> AsyncIterator[httpx.AsyncClient]:
    """Somebody who has signed in to the dashboard."""
    server = Server(app, ServerSettings(service_key=KEY))
    listening = socket.create_server(("127.0.0.1", 0), backlog=1024)
    config = uvicorn.Config(server.asgi, access_log=False, log_level="warning", lifespan="off")
    running = uvicorn.Server(config)
    task = asyncio.create_task(running.serve([listening]))
    address = f"http://127.0.0.1:{listening.getsockname()[1]}"
    try:
        async with httpx.AsyncClient(base_url=address, timeout=60, limits=httpx.Limits(max_connections=None)) as client:
            answer = await client.post("/login", data={"credential": KEY}, headers={"Sec-Fetch-Site": "same-origin"})
            assert answer.status_code == 303, answer.text
            yield client
    finally:
        await server.aclose()
        running.should_exit = True
        await task


async def leave_open(client: httpx.AsyncClient, timed: Timed, seconds: float) -> float:
    """Queries a second of a hundred dashboards that show different pages, after they have settled."""
    pages = ["/", "/queues", "/workers", *(f"/jobs?{search}" for search in SEARCHES)]
    open_now = asyncio.Semaphore(0)

    async def watch(page: str) -> None:
        async with client.stream("GET", "/dashboard/events", params={"page": page}, timeout=None) as stream:
            open_now.release()
            async for _ in stream.aiter_raw():
                pass

    watching = [asyncio.create_task(watch(pages[number % len(pages)])) for number in range(OPEN)]
    try:
        for _ in range(OPEN):
            await open_now.acquire()
        await asyncio.sleep(2)
        timed.taken()
        await asyncio.sleep(seconds)
        return sum(len(each) for each in timed.taken().values()) / seconds
    finally:
        for task in watching:
            task.cancel()
        await asyncio.gather(*watching, return_exceptions=True)


async def measure(url: str, flow: str, seconds: float, console: Console, times: int = TIMES) -> dict[str, Any]:
    async with Penstock(make_conninfo(url, dbname="dashboard")) as app:
        timed = Timed(app)
        async with serving(app) as client:
            with asking_anew():
                rows = await look_at(app, client, timed, flow, times, console)
            with console.status(f"{OPEN} dashboards are open for {seconds:.0f} s…"):
                queries = await leave_open(client, timed, seconds)
        with psycopg.connect(url, autocommit=True) as connection:
            connection.execute("comment on database dashboard is 'changed by a run'")
        with console.status("the ready jobs of a queue are cancelled…"):
            operation = await cancel_many(app)
    return {
        "slowest_ms": max(row["ms"] for row in rows), "queries_per_s": round(queries, 2), **operation, "queries": rows,
    }  # fmt: skip


@contextmanager
def asking_anew() -> Iterator[None]:
    """What others may share for ten seconds is asked for at each look: or the first one's answer would be measured."""
    run = SharedAnswers.run

    async def run_anew(answers: SharedAnswers, command: Any, **_: Any) -> Any:
        return await run(answers, command, fresh=True, good_for=0.0)

    SharedAnswers.run = run_anew  # type: ignore[method-assign,assignment]
    try:
        yield
    finally:
        SharedAnswers.run = run  # type: ignore[method-assign]


async def cancel_many(app: Penstock) -> dict[str, float]:
    """How long the cancellation of a queue's ready jobs takes in the background, chunk by chunk, and of how many.
    The database is not the same afterwards, and says so: the next run fills another."""
    began = time.perf_counter()
    started = await app.operator("the benchmark").acancel(queue="queue 1", state="ready")
    while await app.engine.arun(commands.ContinueOperation()):
        pass
    ended = await app.operations.aget(started.id)
    assert ended is not None
    assert ended.state == "done", ended.error
    return {"operation_s": round(time.perf_counter() - began, 1), "operation_jobs": ended.done}


def show(console: Console, results: dict[str, Any]) -> None:
    table = Table(title="queries of pages", box=None)
    for column in ("page", "query", "median ms", "most ms"):
        table.add_column(column, justify="right" if column.endswith("ms") else "left")
    for row in sorted(results["queries"], key=lambda row: -row["ms"]):
        table.add_row(row["page"], row["query"], f"{row['ms']:.1f}", f"{row['most_ms']:.1f}")
    console.print(table)
    console.print(goals.table(GOALS, results))


def options(arguments: Sequence[str] | None = None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--live", type=figures.at_least(1000), default=1_000_000, help="jobs that have not ended")
    parser.add_argument("--finished", type=figures.at_least(1000), default=10_000_000, help="jobs in history")
    parser.add_argument("--seconds", type=float, default=20.0, help="for how long the dashboards are left open")
    parser.add_argument("--folder", type=Path, default=FOLDER, help="of the server, which is kept")
    parser.add_argument("--fresh", action="store_true", help="fill the database anew, whatever it holds")
    parser.add_argument("--results", type=Path, default=RESULTS)
    return parser.parse_args(arguments)


def main() -> None:
    chosen = options()
    console = Console()
    settings = {"shared_buffers": "1GB", "max_wal_size": "8GB", "synchronous_commit": "off"}
    try:
        with embedded.start(chosen.folder, settings=settings) as postgres:
            if chosen.fresh:
                with psycopg.connect(postgres.url, autocommit=True) as connection:
                    connection.execute("drop database if exists dashboard with (force)")
            flow = filled(postgres.url, chosen.live, chosen.finished, console)
            results = asyncio.run(measure(postgres.url, flow, chosen.seconds, console))
    except KeyboardInterrupt:
        raise SystemExit("stopped; nothing was written") from None
    show(console, results)
    figures.merge(chosen.results, {"live": chosen.live, "finished": chosen.finished, **results})
    console.print(f"written to {chosen.results}")
    goals.end(goals.verdicts(GOALS, results))


if __name__ == "__main__":
    main()
