"""`make soak`: ten million jobs through one worker, with flat memory, tables and claims; every job is counted once.

Most carry nothing, some 1 KB or 10 KB; some fail and are retried, some are given up, some snooze, some are cancelled.
Retention runs all the while: ids are as of forty days, whose partitions of history are dropped once they were read into
the ledger. Ctrl-C, or a reboot, loses nothing: the same command goes on. Writes bench/results/soak.json.
"""

import argparse
import asyncio
import json
import secrets
import shutil
import statistics
import sys
import time
from collections.abc import AsyncIterator, Callable, Iterable, Sequence
from contextlib import asynccontextmanager
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import httpx
import psycopg
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

from bench import figures, goals, machine, proc, processes
from bench.figures import percentile
from bench.goals import Goal
from bench.processes import ROOT, Program
from bench.soak_jobs import CANCELLED, CHUNK, QUEUE, Days, job, kind_of
from bench.soak_ledger import FOR_EVER, Ledger, add_partitions, cancel_left, drop_what_was_read, missing
from penstock import Penstock, embedded
from penstock.engine import commands
from penstock.engine.postgres.statement import Statement

FOLDER = ROOT / ".cache" / "soak"
RESULTS = ROOT / "bench" / "results" / "soak.json"
AHEAD = 4 * CHUNK
"""Jobs that are ready at most."""
FULL = 1_000_000
"""Jobs from which on a soak that does not tell whether they are flat has not passed."""
LONG_ENOUGH = 60
"""Samples of five seconds from which on it is told whether memory, tables and claims are flat."""
GOALS = (
    Goal("lost", "jobs lost", at_most=0, form=".0f"),
    Goal("double_accepted", "jobs counted twice", at_most=0, form=".0f"),
    Goal("ghosts", "jobs that nobody enqueued", at_most=0, form=".0f"),
    Goal("ended_wrong", "jobs that ended otherwise than they had to", at_most=0, form=".0f"),
    Goal("unfinished", "jobs that are live in the end", at_most=0, form=".0f"),
    Goal("rerun", "jobs handed out more often than they had to be, if nobody stopped it", at_most=0, form=".0f"),
    Goal("worker_rss_ratio", "the worker's memory: last third / first", at_most=1.1),
    Goal("server_rss_ratio", "the API's memory: the same", at_most=1.1),
    Goal("jobs_bytes_ratio", "bytes of the live tables, the most of each: the same", at_most=1.3),
    Goal("history_bytes_ratio", "bytes of history and what is beside it: the same", at_most=1.3),
    Goal("claim_p50_ratio", "a claim, p50: the same", at_most=1.3),
    Goal("claim_p99_ratio", "a claim, p99: the same", at_most=1.5),
)
SIZES = """
    select coalesce(sum(size) filter (where of_history), 0)::bigint,
           coalesce(sum(size) filter (where not of_history), 0)::bigint,
           count(*) filter (where relname ~ '^history_[0-9]')
      from (select c.relname, pg_total_relation_size(c.oid) as size,
                   c.relname ~ '^(history|payloads|errors)' as of_history
              from pg_class as c
              join pg_namespace as n on n.oid = c.relnamespace
             where n.nspname = 'penstock' and c.relkind = 'r') as tables
"""


@dataclass
class State:
    """How far a soak has come: what is needed to go on with it, written after every day that was read."""

    jobs: int
    began: str
    kept: float
    days: int = 0
    counted: int = 0
    attempts: int = 0
    wrong: dict[str, int] = field(default_factory=dict)
    ended: dict[str, int] = field(default_factory=dict)
    dropped: int = 0
    """Days whose partitions are gone."""
    seconds: float = 0.0
    runs: int = 0
    """How often it was started."""
    samples: list[dict[str, float]] = field(default_factory=list)

    def write(self, folder: Path, ledger: Ledger) -> None:
        """The bits first: a day that is counted again would be found twice."""
        self.days, self.counted, self.attempts = ledger.days, ledger.counted, ledger.attempts
        self.wrong, self.ended = dict(ledger.wrong), dict(ledger.states)
        # both or neither
        new = folder / f"ledger.{self.days}.bits"
        ledger.save(new)
        (folder / "state.new").write_text(json.dumps(asdict(self)))
        (folder / "state.new").replace(folder / "state.json")
        for old in folder.glob("ledger.*.bits"):
            if old != new:
                old.unlink()

    def ledger(self, folder: Path) -> Ledger:
        bits = folder / f"ledger.{self.days}.bits"
        made = Ledger(self.jobs, bytearray(bits.read_bytes()) if bits.exists() else bytearray())
        made.days, made.counted, made.attempts = self.days, self.counted, self.attempts
        made.wrong.update(self.wrong)
        made.states.update(self.ended)
        return made


class Soak:
    def __init__(self, app: Penstock, state: State, folder: Path, progress: Progress) -> None:
        self.app = app
        self.state = state
        self.folder = folder
        self.days = Days(state.jobs, datetime.fromisoformat(state.began))
        self.ledger = state.ledger(folder)
        self._task = progress.add_task("soak", total=state.jobs)
        self._progress = progress
        self._sent = min(self.state.days * self.days.each, state.jobs)
        self._through = asyncio.Event()
        self._stopped = False

    async def run(self, worker: Program, server: Program, ask: httpx.AsyncClient) -> None:
        try:
            await self._run(worker, server, ask)
        finally:
            self._stopped = True

    async def _run(self, worker: Program, server: Program, ask: httpx.AsyncClient) -> None:
        async with asyncio.TaskGroup() as group:
            group.create_task(self._enqueue())
            reckoning = group.create_task(asyncio.to_thread(self._reckon))
            reckoning.add_done_callback(lambda _: self._through.set())
            sampling = group.create_task(self._sample(worker, server))
            asking = group.create_task(self._ask(ask))
            group.create_task(self._end(sampling, asking))

    async def _end(self, *tasks: asyncio.Task[None]) -> None:
        await self._through.wait()
        for task in tasks:
            task.cancel()

    async def _enqueue(self) -> None:
        engine = self.app.engine
        while self._sent < self.state.jobs:
            [backlog] = await engine.arun(commands.Backlog([QUEUE], AHEAD + 1))
            if backlog.ready > AHEAD:
                await asyncio.sleep(0.02)
                continue
            if self._sent % self.days.each == 0:
                await asyncio.to_thread(self._begin_day, self._sent // self.days.each)
            numbers = range(self._sent, min(self._sent + CHUNK, self.state.jobs))
            ids = [self.days.id_of(n) for n in numbers]
            # a run that was stopped may have enqueued them, all or none
            if not await engine.arun(commands.ExistingIds([ids[0].bytes])):
                await engine.aenqueue([job(n, id) for n, id in zip(numbers, ids, strict=True)])
            cancelled = [id for n, id in zip(numbers, ids, strict=True) if kind_of(n) == CANCELLED]
            await engine.arun(commands.Cancel(cancelled, "cancelled by the soak"))
            self._sent += len(numbers)

    def _begin_day(self, day: int) -> None:
        with psycopg.connect(self.app.url(), autocommit=True) as connection:
            while not add_partitions(connection, self.days, day, day):
                time.sleep(0.5)

    def _reckon(self) -> None:
        """Reads each day when it is through, and lets retention have it."""
        with psycopg.connect(self.app.url(), autocommit=True) as connection:
            while self.ledger.days < self.days.count and not self._stopped:
                sent = self._sent
                self._progress.update(self._task, completed=min(sent, self.state.jobs))
                read = False
                if sent >= min((self.ledger.days + 1) * self.days.each, self.state.jobs):
                    read = self.ledger.read_day(connection, self.days)
                if read:
                    self.state.write(self.folder, self.ledger)
                    drop_what_was_read(connection, self.ledger, self.days, self._sent, self.state.kept)
                    self.state.dropped = missing(connection, self.days, 0, self.ledger.days - 1)
                else:
                    time.sleep(0.5)

    async def _sample(self, worker: Program, server: Program) -> None:
        last = self._sent
        began = time.monotonic()
        while True:
            line = await worker.line()
            took = sorted(json.loads(line))
            [[history_bytes, jobs_bytes, partitions]] = await self.app.database.arun(Statement(SIZES, [], list))
            now = time.monotonic()
            sent, seconds = self._sent, now - began
            self.state.seconds += seconds
            if took:
                claims = {f"claim_{p}_ms": round(percentile(took, p), 3) for p in ("p50", "p99")}
                self.state.samples.append(claims | {
                    "at": round(self.state.seconds, 1), "sent": sent, "jobs_per_s": round((sent - last) / seconds),
                    "worker_mb": round(proc.resident_mb(worker.pid) or 0, 1),
                    "server_mb": round(proc.resident_mb(server.pid) or 0, 1),
                    "history_bytes": history_bytes, "jobs_bytes": jobs_bytes, "partitions": partitions,
                })  # fmt: skip
            last, began = sent, now

    async def _ask(self, ask: httpx.AsyncClient) -> None:
        """The API is asked as clients do: for a job, and now and then for the metrics."""
        for n in range(10**9):
            await ask.get(f"/api/jobs/{self.days.id_of(max(0, self._sent - 1))}")
            if n % 50 == 0:
                await ask.get("/metrics")
            await asyncio.sleep(0.1)


def verdict(state: State, ledger: Ledger) -> dict[str, Any]:
    """The figures of a soak that is through, the last third of its time beside the first; of a short one they are not
    told, for it ends while tables, memory and caches still fill. One of full size has to tell them."""
    samples = state.samples
    third = len(samples) // 3
    first, last = samples[:third], samples[-third:]

    def ratio(name: str, of: Callable[[Iterable[float]], float] = statistics.median) -> float | None:
        if len(samples) < LONG_ENOUGH:
            return None
        return of(each[name] for each in last) / of(each[name] for each in first)

    found: dict[str, Any] = {
        "jobs": state.jobs, "counted": ledger.counted, "lost": ledger.lost,
        **{name: ledger.wrong[name] for name in ("double_accepted", "ended_wrong", "ghosts", "unfinished")},
        # who was at work when it was stopped may be again
        "rerun": ledger.wrong["rerun"] if state.runs <= 1 else None,
        "ended": dict(ledger.states), "attempts": ledger.attempts, "runs": state.runs,
        "days": ledger.days, "days_dropped": state.dropped,
        "seconds": round(state.seconds, 1), "jobs_per_s": round(state.jobs / max(state.seconds, 0.1)),
        "claim_p50_ratio": ratio("claim_p50_ms"), "claim_p99_ratio": ratio("claim_p99_ms"),
        "worker_rss_ratio": ratio("worker_mb"), "server_rss_ratio": ratio("server_mb"),
        "jobs_bytes_ratio": ratio("jobs_bytes", max), "history_bytes_ratio": ratio("history_bytes", max),
    }  # fmt: skip
    for who in ("worker", "server"):
        found[f"{who}_rss_mb"] = [samples[0][f"{who}_mb"], samples[-1][f"{who}_mb"]] if samples else None
    measured = {name: value for name, value in found.items() if isinstance(value, int | float)}
    met = goals.verdicts(GOALS, measured)
    if state.jobs >= FULL:
        met |= {goal.name: False for goal in GOALS if goal.name.endswith("_ratio") and goal.name not in measured}
    return found | {"goals_met": met, "verdict": "passed" if all(met.values()) else "failed"}


@asynccontextmanager
async def soaking(url: str, state: State, folder: Path, progress: Progress) -> AsyncIterator[None]:
    key = secrets.token_hex(16)
    async with (
        # a machine that is busy with other things is no fault
        Penstock(url, database_timeout=60) as app,
        processes.started("the API", (sys.executable, "-m", "bench.live_server", url, key)) as server,
        processes.started("the worker", (sys.executable, "-m", "bench.soak_worker", url)) as worker,
    ):
        [port] = await server.hear("ready")
        headers = {"Authorization": f"Bearer {key}"}
        async with httpx.AsyncClient(base_url=f"http://127.0.0.1:{port}", headers=headers, timeout=60) as ask:
            await Soak(app, state, folder, progress).run(worker, server, ask)
    yield


def prepare(url: str) -> None:
    """Retention takes nothing by itself: what was read is dropped."""
    with Penstock(url) as app:
        app.migrate()
        with psycopg.connect(app.url()) as connection:
            connection.execute("update penstock.settings set history_kept = %s", [FOR_EVER])
            cancel_left(connection)


def options(arguments: Sequence[str] | None = None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--jobs", type=figures.at_least(CHUNK), default=10_000_000)
    parser.add_argument("--kept", type=float, help="seconds for which history is kept (else 60, or 5 of a short soak)")
    parser.add_argument("--fresh", action="store_true", help="begin anew, whatever is left of another")
    parser.add_argument("--folder", type=Path, default=FOLDER, help="of the server and the state")
    parser.add_argument("--results", type=Path, default=RESULTS)
    return parser.parse_args(arguments)


def begun(chosen: argparse.Namespace, console: Console) -> State:
    """The soak that was stopped, if it is of this size; else a new one."""
    path = chosen.folder / "state.json"
    if path.exists() and not chosen.fresh:
        state = State(**json.loads(path.read_text()))
        if state.jobs == chosen.jobs:
            console.print(f"going on from {state.counted:,} jobs; --fresh begins anew")
            return state
    shutil.rmtree(chosen.folder, ignore_errors=True)
    chosen.folder.mkdir(parents=True)
    kept = chosen.kept or (60.0 if chosen.jobs >= 1_000_000 else 5.0)
    state = State(chosen.jobs, datetime.now(UTC).isoformat(), kept)
    state.write(chosen.folder, Ledger(chosen.jobs))
    return state


def main() -> None:
    chosen = options()
    console = Console()
    state = begun(chosen, console)
    state.runs += 1
    state.write(chosen.folder, state.ledger(chosen.folder))
    # forty days come within minutes, and the new partitions of each kept autovacuum's usual three from the live table
    # for 220 s: it grew to twice its size. And at 22,000 jobs a second it grows by 12 MB a second until autovacuum
    # looks again, after a minute: that told when it had looked, and not whether the table is flat. Ten seconds are what
    # docs/guides/operations.md has for whoever lives with ten thousand a second
    settings = {
        "shared_buffers": "512MB", "max_wal_size": "4GB", "autovacuum_max_workers": "8", "autovacuum_naptime": "10s",
    }  # fmt: skip
    columns = TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn()
    try:
        with (
            embedded.start(chosen.folder / "postgres", settings=settings) as postgres,
            Progress(*columns, TimeRemainingColumn(), console=console) as progress,
        ):
            prepare(postgres.url)

            async def soak() -> None:
                async with soaking(postgres.url, state, chosen.folder, progress):
                    pass

            asyncio.run(soak())
            ledger = state.ledger(chosen.folder)
            with psycopg.connect(postgres.url, autocommit=True) as connection:
                ledger.read_end(connection, Days(state.jobs, datetime.fromisoformat(state.began)))
    except KeyboardInterrupt:
        raise SystemExit("stopped; the same command goes on") from None
    found = verdict(state, ledger)
    measured = {name: value for name, value in found.items() if isinstance(value, int | float)}
    console.print(goals.table(GOALS, measured))
    chosen.results.parent.mkdir(parents=True, exist_ok=True)
    chosen.results.write_text(
        json.dumps({**found, "machine": machine.here(), "samples": state.samples}, indent=2) + "\n"
    )
    console.print(f"{found['verdict']}; written to {chosen.results}")
    shutil.rmtree(chosen.folder, ignore_errors=True)
    if found["verdict"] != "passed":
        raise SystemExit(1)


if __name__ == "__main__":
    main()
