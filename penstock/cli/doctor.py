"""`penstock doctor`: what keeps jobs from running well, and what to do about it."""

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Literal

import psycopg
import typer
from rich.markup import escape

from penstock.app import Penstock
from penstock.cli.output import out, print_json
from penstock.engine import commands
from penstock.engine.postgres.adapters import installed_adapters
from penstock.engine.postgres.migrate import missing_rights
from penstock.logs import counted, shown
from penstock.sql import quote_schema, render

Level = Literal["ok", "warning", "bad"]

FAR = 0.02
"""Seconds of a round trip from which on the database is far away: every claim and every report takes one."""
HEARD_WITHIN = 2.0
OLD_SNAPSHOT = 600
OVERDUE = 60
SKEW = 5.0


@dataclass(frozen=True, slots=True)
class Finding:
    """What was looked at, how it is, and what to do; a good one has nothing to do."""

    level: Level
    about: str
    text: str
    do: str | None = None


Connection = psycopg.Connection[Any]
Check = Callable[[Penstock, Connection], Iterator[Finding]]


def doctor(app: Penstock, json: bool) -> None:
    """Look for what keeps jobs from running well: the database, rights, notifications, queues, workers.

    Changes nothing. Exit code 1 when something is bad; a warning is not.
    """
    with psycopg.connect(app.url(), autocommit=True, application_name="penstock doctor") as connection:
        found = [finding for check in CHECKS for finding in check(app, connection)]
    if json:
        print_json({"findings": found})
    else:
        for finding in found:
            _print(finding)
    if any(finding.level == "bad" for finding in found):
        raise typer.Exit(1)


def _print(finding: Finding) -> None:
    marks = {"ok": "[green]✓[/]", "warning": "[yellow]![/]", "bad": "[red]✗[/]"}
    text = f"{marks[finding.level]} [bold]{finding.about:<14}[/] {escape(shown(finding.text))}"
    out.print(text, highlight=False, soft_wrap=True)
    if finding.do:
        out.print(f"{'':17}{escape(shown(finding.do))}", highlight=False, soft_wrap=True, style="dim")


def _one(connection: Connection, query: str) -> Any:
    row = connection.execute(query.encode()).fetchone()
    assert row is not None
    return row[0]


def _database(app: Penstock, connection: Connection) -> Iterator[Finding]:
    times = []
    for _ in range(5):
        began = time.perf_counter()
        _one(connection, "select 1")
        times.append(time.perf_counter() - began)
    trip = sorted(times)[2]
    text = f"PostgreSQL {_one(connection, 'show server_version')}, {app.home.shown}, {1000 * trip:.1f} ms away"
    if trip > FAR:
        yield Finding("warning", "database", text, "run workers nearer to it: each claim and report is a trip")
    else:
        yield Finding("ok", "database", text)
    skew = abs((datetime.now(UTC) - _one(connection, "select clock_timestamp()")).total_seconds()) - trip
    if skew > SKEW:
        yield Finding(
            "warning", "clock", f"this machine and the database differ by {skew:.0f} s", "set the clock by NTP"
        )
    used, most = (
        _one(connection, "select count(*) from pg_stat_activity"),
        int(_one(connection, "show max_connections")),
    )
    if used > 0.8 * most:
        advice = "a pooler in front (docs/guides/pgbouncer.md), or more max_connections"
        yield Finding("warning", "connections", f"{used} of {most} are in use", advice)
    if _one(connection, "show autovacuum") != "on":
        yield Finding("bad", "autovacuum", "is off: dead rows pile up", "alter system set autovacuum = on, and reload")


def _rights(_: Penstock, connection: Connection) -> Iterator[Finding]:
    missing = list(missing_rights(connection))
    for each in missing:
        what, do = each.split("; ", 1)
        yield Finding("warning", "rights", what, do)
    if not missing:
        yield Finding("ok", "rights", "requests of users can be served")


def _adapters(app: Penstock, connection: Connection) -> Iterator[Finding]:
    for name, current in installed_adapters(connection, app.database.schema).items():
        if current:
            yield Finding("ok", "adapter", f"{name} is there")
        else:
            yield Finding("warning", "adapter", f"{name} is of another version", "penstock migrate")


def _cron(app: Penstock, connection: Connection) -> Iterator[Finding]:
    """Who does what happens now and then, where workers are not ours: they call functions by HTTP or SQL."""
    there = _one(connection, "select has_table_privilege(to_regclass('cron.job'), 'select')")
    if there and _one(connection, "select exists (select from cron.job where active and command like '%maintain()%')"):
        yield Finding("ok", "pg_cron", "tends the queues")
        return
    schema = app.database.schema
    if not there and "supabase" not in installed_adapters(connection, schema):
        return
    lines = "" if there else "create extension if not exists pg_cron; "
    lines += f"select cron.schedule('penstock', '10 seconds', $$select {quote_schema(schema)}.maintain()$$);"
    leader = render("select until > now() from penstock.leader order by number desc limit 1", schema)
    if _one(connection, leader):
        yield Finding("ok", "pg_cron", f"a worker tends the queues; where none runs, pg_cron can: {lines}")
    else:
        yield Finding("warning", "pg_cron", "nobody tends the queues: no worker of ours, and no line of pg_cron", lines)


def _notifications(app: Penstock, connection: Connection) -> Iterator[Finding]:
    """Whether what one session says is heard in another: a pooler in transaction mode would keep it."""
    with psycopg.connect(app.url(), autocommit=True) as listening:
        listening.execute("listen penstock_doctor")
        connection.execute("notify penstock_doctor")
        heard = next(iter(listening.notifies(timeout=HEARD_WITHIN, stop_after=1)), None)
    if heard is None:
        advice = "workers look around instead, a second late; give them the direct address"
        yield Finding("warning", "notifications", "do not arrive: is there a pooler in transaction mode?", advice)
    else:
        yield Finding("ok", "notifications", "arrive")


def _snapshots(_: Penstock, connection: Connection) -> Iterator[Finding]:
    rows = connection.execute(
        """select pid, coalesce(nullif(application_name, ''), 'somebody'),
                  extract(epoch from now() - xact_start)::float
             from pg_stat_activity
            where backend_xmin is not null and backend_type = 'client backend'
              and datname = current_database() and pid <> pg_backend_pid()
              and now() - xact_start > make_interval(secs => %s)
            order by xact_start limit 5""",
        [OLD_SNAPSHOT],
    )
    for pid, name, seconds in rows.fetchall():
        text = (
            f"{name} (pid {pid}) has had a transaction open for {seconds / 60:.0f} min: nothing is cleaned up meanwhile"
        )
        yield Finding("warning", "snapshots", text, f"end it if it is forgotten: select pg_terminate_backend({pid})")


def _queues(app: Penstock, _: Connection) -> Iterator[Finding]:
    queues, workers = app.queues.list(), app.workers.list()
    served = {name for worker in workers for name in worker.queues}
    if workers:
        yield Finding("ok", "workers", f"{counted(len(workers), 'worker')} for {', '.join(sorted(served))}")
    else:
        level: Level = "bad" if any(queue.ready or queue.scheduled for queue in queues) else "warning"
        yield Finding(level, "workers", "nobody works", "start one: penstock worker APP")
    for queue in queues:
        if queue.paused and queue.ready:
            text = f"{queue.name} is paused, and {counted(queue.ready, 'job waits', 'jobs wait')} in it"
            yield Finding("warning", "queue", text, f"penstock queues resume {queue.name}")
        elif queue.ready and workers and queue.name not in served:
            text = f"{counted(queue.ready, 'job')} of {queue.name} wait, and no worker serves it"
            yield Finding("bad", "queue", text, f"penstock worker APP --queues {queue.name}")
        elif (queue.oldest_ready_seconds or 0) > 300 and queue.name in served:
            text = f"the next job of {queue.name} has waited for {queue.oldest_ready_seconds or 0:.0f} s"
            yield Finding("warning", "queue", text, "more workers or slots, or a limit that is too tight: penstock top")


def _jobs(app: Penstock, _: Connection) -> Iterator[Finding]:
    overdue = app.engine.run(commands.NextRunAt())
    if overdue is not None and (late := (datetime.now(UTC) - overdue).total_seconds()) > OVERDUE:
        text = f"a job that was due {late:.0f} s ago is still scheduled: nobody tends the queues"
        yield Finding("bad", "maintenance", text, "start a worker with a database, or penstock.maintain() by pg_cron")
    for parked in app.engine.run(commands.ParkedJobs()):
        text = f"{counted(parked.jobs, 'job')} of kind {parked.kind} wait for a worker that knows them"
        yield Finding("warning", "parked", text, "start a worker of the version that enqueued them")
    for dead in app.engine.run(commands.DeadJobs()):
        text = f"{'' if dead.exact else 'at least '}{counted(dead.jobs, 'job')} of {dead.queue} were given up"
        yield Finding("warning", "failed", text, f"penstock jobs list --state failed --queue {dead.queue}")


def _library(_: Penstock, connection: Connection) -> Iterator[Finding]:
    del connection
    if psycopg.pq.__impl__ == "python":
        text = "psycopg is plain Python here: a worker takes twice the CPU for a small job"
        yield Finding("warning", "psycopg", text, "pip install 'penstock[binary]'")


CHECKS: tuple[Check, ...] = (_database, _rights, _adapters, _cron, _notifications, _snapshots, _queues, _jobs, _library)
