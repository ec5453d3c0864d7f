"""`penstock doctor`: what keeps jobs from running well, and what to do about it."""

from collections.abc import Iterator, Mapping
from datetime import UTC, datetime

import psycopg
import typer
from rich.markup import escape

from penstock.app import Penstock
from penstock.cli import doctor_database, doctor_redis, doctor_vacuum
from penstock.cli.doctor_database import Check, Connection, Finding, Level, asked, connect, one
from penstock.cli.output import out, print_json
from penstock.engine import commands
from penstock.engine.postgres.adapters import installed_adapters
from penstock.errors import PenstockError
from penstock.logs import counted, shown
from penstock.sql import quote_schema, render

OVERDUE = 60
LEADER = "name the leader in DATABASE_URL; of several hosts, ?target_session_attrs=read-write finds it"


def doctor(app: Penstock, json: bool) -> None:
    """Look for what keeps jobs from running well: the database, rights, notifications, queues, workers.

    Changes nothing. Exit code 1 when something is bad; a warning is not.
    """
    found = list(look(app))
    if json:
        print_json({"findings": found})
    else:
        for finding in found:
            _print(finding)
    if any(finding.level == "bad" for finding in found):
        raise typer.Exit(1)


def look(app: Penstock) -> Iterator[Finding]:
    if not app.engine.capabilities.database:
        found = list(doctor_redis.look(app))
        yield from found
        for check in OF_JOBS if found[0].about != "connection" else ():
            yield from check(app)
    if app.has_database:
        yield from _look_at_database(app)


def _look_at_database(app: Penstock) -> Iterator[Finding]:
    try:
        connection = connect(app)
    except psycopg.OperationalError as error:
        advice = (
            "is the address right (DATABASE_URL, --database-url), does it run, may this machine reach it (pg_hba.conf)?"
        )
        yield Finding("bad", "connection", f"{app.home.shown}: {' '.join(str(error).split())}", advice)
        return
    with connection:
        if one(connection, "select pg_catalog.pg_is_in_recovery()"):
            yield Finding("bad", "connection", f"{app.home.shown} is a standby, which takes no writes", LEADER)
            return
        usable = True
        for check in (*doctor_database.CHECKS, doctor_vacuum.look):
            for finding in asked(check, app, connection):
                usable = usable and not (finding.about in doctor_database.BASICS and finding.level == "bad")
                yield finding
        there = CHECKS if app.engine.capabilities.database else OF_DATABASE
        for check in there if usable else ():  # nothing of it could be asked
            try:
                yield from asked(check, app, connection)
            except (PenstockError, psycopg.Error) as error:
                told = " ".join(str(error).split())
                yield Finding("bad", check.__name__.strip("_"), told, "what is bad above may be why")


def _print(finding: Finding) -> None:
    marks = {"ok": "[green]✓[/]", "warning": "[yellow]![/]", "bad": "[red]✗[/]"}
    text = f"{marks[finding.level]} [bold]{finding.about:<14}[/] {escape(shown(finding.text))}"
    out.print(text, highlight=False, soft_wrap=True)
    if finding.do:
        out.print(f"{'':17}{escape(shown(finding.do))}", highlight=False, soft_wrap=True, style="dim")


def _adapters(app: Penstock, connection: Connection) -> Iterator[Finding]:
    for name, current in installed_adapters(connection, app.database.schema).items():
        if current:
            yield Finding("ok", "adapter", f"{name} is there")
        else:
            yield Finding("warning", "adapter", f"{name} is of another version", "penstock migrate")


def _cron(app: Penstock, connection: Connection) -> Iterator[Finding]:
    """Who does what happens now and then, where workers are not ours: they call functions by HTTP or SQL."""
    # not by its name, which a login that may not look into the schema cannot even say
    there = one(
        connection,
        """select exists (select from pg_class as c join pg_namespace as n on n.oid = c.relnamespace
                           where (n.nspname, c.relname) = ('cron', 'job')
                             and has_schema_privilege(n.oid, 'usage') and has_table_privilege(c.oid, 'select'))""",
    )
    if there and one(connection, "select exists (select from cron.job where active and command like '%maintain()%')"):
        yield Finding("ok", "pg_cron", "tends the queues")
        return
    schema = app.database.schema
    if not there and not installed_adapters(connection, schema):
        return
    lines = "" if there else "create extension if not exists pg_cron; "
    lines += f"select cron.schedule('penstock', '10 seconds', $$select {quote_schema(schema)}.maintain()$$);"
    leader = render("select until > now() from penstock.leader order by number desc limit 1", schema)
    if one(connection, leader):
        yield Finding("ok", "pg_cron", f"a worker tends the queues; where none runs, pg_cron can: {lines}")
    else:
        yield Finding("warning", "pg_cron", "nobody tends the queues: no worker of ours, and no line of pg_cron", lines)


def _queues(app: Penstock, connection: Connection | None = None) -> Iterator[Finding]:
    queues, workers = app.queues.list(), app.workers.list()
    served = {name for worker in workers for name in worker.queues}
    others = _others(app, connection)
    if workers:
        yield Finding("ok", "workers", f"{counted(len(workers), 'worker')} for {', '.join(sorted(served))}")
    else:
        waiting = [queue.name for queue in queues if queue.ready or queue.scheduled]
        level: Level = "bad" if any(name not in others for name in waiting) else "warning"
        text = "nobody works"
        if waiting and level == "warning":
            text = (
                f"no worker is there; what waits is left to {' and '.join(sorted({others[name] for name in waiting}))}"
            )
        yield Finding(level, "workers", text, "start one: penstock worker APP")
    for queue in queues:
        if queue.paused and queue.ready:
            text = f"{queue.name} is paused, and {counted(queue.ready, 'job waits', 'jobs wait')} in it"
            yield Finding("warning", "queue", text, f"penstock queues resume {queue.name}")
        elif queue.ready and workers and queue.name not in served:
            text = f"{counted(queue.ready, 'job')} of {queue.name} wait, and no worker serves it"
            if queue.name in others:
                text = f"{text}: left to {others[queue.name]}"
            level = "warning" if queue.name in others else "bad"
            yield Finding(level, "queue", text, f"penstock worker APP --queues {queue.name}")
        elif (queue.oldest_ready_seconds or 0) > 300 and queue.name in served:
            text = f"the next job of {queue.name} has waited for {queue.oldest_ready_seconds or 0:.0f} s"
            yield Finding("warning", "queue", text, "more workers or slots, or a limit that is too tight: penstock top")


def _others(app: Penstock, connection: Connection | None) -> Mapping[str, str]:
    """The queues that others than workers take from, who hold no lease while they look, and who these are."""
    there = installed_adapters(connection, app.database.schema) if connection is not None else {}
    found = {"tasks": "callers of claim_tasks()"} if "supabase" in there else {}
    if connection is not None and "pgmq" in there:
        found |= {name: "pgmq's readers" for (name,) in connection.execute("select queue from pgmq.meta").fetchall()}
    return found


def _jobs(app: Penstock, connection: Connection | None = None) -> Iterator[Finding]:
    overdue = app.engine.run(commands.NextRunAt())
    others = list(_others(app, connection))
    if overdue is not None and connection is not None and others:
        # those take what is due by themselves
        query = """select (select run_at from penstock.jobs
                            where state = 'scheduled' and run_at < now() and queue <> all(%s)
                            order by run_at limit 1)"""
        overdue = one(connection, render(query, app.database.schema), others)
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


OF_JOBS = (_queues, _jobs)
OF_DATABASE: tuple[Check, ...] = (*doctor_database.OF_SCHEMA, _adapters, _cron, _library)
CHECKS: tuple[Check, ...] = (*OF_DATABASE[:-1], *OF_JOBS, _library)
