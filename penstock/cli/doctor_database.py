"""What `penstock doctor` asks of the database itself."""

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from importlib.metadata import version
from typing import Any, Literal

import psycopg

from penstock.app import Penstock
from penstock.engine.postgres.address import read_address
from penstock.engine.postgres.connections import ENCODING
from penstock.engine.postgres.migrate import OLDEST_POSTGRES, missing_rights, no_characters
from penstock.errors import PenstockError
from penstock.logs import counted
from penstock.sql import at_migration, contract, functions_digest, migrations, quote_schema, render

Level = Literal["ok", "warning", "bad"]

NEWEST_POSTGRES = 18
FAR = 0.02
"""Seconds of a round trip from which on the database is far away: every claim and every report takes one."""
HEARD_WITHIN = 2.0
SKEW = 5.0
CROWDED = 0.8
OF_A_WORKER = 9
"""Connections that a worker opens for itself at most, one of them to listen, beside those of the application's pool."""
LOOKED_INTO = "pg_catalog, pg_temp"
BASICS = ("connection", "extensions", "schema", "rights")
"""Without which nothing else can be asked."""


@dataclass(frozen=True, slots=True)
class Finding:
    """What was looked at, how it is, and what to do; a good one has nothing to do."""

    level: Level
    about: str
    text: str
    do: str | None = None


Connection = psycopg.Connection[Any]
Check = Callable[[Penstock, Connection], Iterator[Finding]]


def connect(app: Penstock) -> Connection:
    return psycopg.connect(
        read_address(app.url()),
        autocommit=True,
        application_name="penstock doctor",
        client_encoding=ENCODING,
        prepare_threshold=None,  # behind a pooler the next transaction is another server's
    )


def asked(check: Check, app: Penstock, connection: Connection) -> list[Finding]:
    """What it finds, in a transaction where only Postgres's own functions and operators are found by their names: a
    better fitting one that somebody made in `public` would run as whoever asks, often the owner or a superuser."""
    with connection.transaction():
        connection.execute(f"set local search_path = {LOOKED_INTO}".encode())
        return list(check(app, connection))


def one(connection: Connection, query: str, *params: object) -> Any:
    row = connection.execute(query.encode(), params or None).fetchone()
    assert row is not None
    return row[0]


def _server(app: Penstock, connection: Connection) -> Iterator[Finding]:
    times = []
    for _ in range(5):
        began = time.perf_counter()
        one(connection, "select 1")
        times.append(time.perf_counter() - began)
    trip = sorted(times)[2]
    text = f"PostgreSQL {one(connection, 'show server_version')}, {app.home.shown}, {1000 * trip:.1f} ms away"
    major = connection.info.server_version // 10_000
    if major < OLDEST_POSTGRES:
        yield Finding("bad", "database", text, f"Penstock needs PostgreSQL {OLDEST_POSTGRES} or newer: upgrade it")
    elif major > NEWEST_POSTGRES:
        advice = f"Penstock is tested on PostgreSQL {OLDEST_POSTGRES} to {NEWEST_POSTGRES}: pip install -U penstock"
        yield Finding("warning", "database", text, advice)
    elif trip > FAR:
        yield Finding("warning", "database", text, "run workers nearer to it: each claim and report is a trip")
    else:
        yield Finding("ok", "database", text)
    if (problem := no_characters(connection)) is not None:
        yield Finding("bad", "encoding", *problem.split(": ", 1))
    if one(connection, "show autovacuum") != "on":
        yield Finding("bad", "autovacuum", "is off: dead rows pile up", "alter system set autovacuum = on, and reload")


def _extensions(_: Penstock, connection: Connection) -> Iterator[Finding]:
    found = [name for (name,) in connection.execute("select extname from pg_extension order by 1").fetchall()]
    if "plpgsql" in found:
        others = ", ".join(name for name in found if name != "plpgsql")
        yield Finding("ok", "extensions", f"none is needed{f'; there is {others}' if others else ''}")
    else:
        advice = "as an administrator of the database: create extension plpgsql"
        yield Finding("bad", "extensions", "plpgsql, which every database has, was taken away", advice)


def _schema(app: Penstock, connection: Connection) -> Iterator[Finding]:
    """Whether what this program needs is in the database, and this login may use it."""
    schema, login = app.database.schema, connection.info.user
    migrate = "penstock migrate"
    if one(connection, "select to_regnamespace(%s) is null", quote_schema(schema)):
        yield Finding("bad", "schema", f"there is no schema {schema} in this database", migrate)
        return
    refused = one(
        connection,
        """select not has_schema_privilege(n.oid, 'usage')
               or exists (select from pg_proc where pronamespace = n.oid and not has_function_privilege(oid, 'execute'))
             from pg_namespace as n where n.oid = to_regnamespace(%s)""",
        quote_schema(schema),
    )  # fmt: skip
    if refused:
        text = f"{login} may not use all of schema {schema}: it can neither enqueue nor work"
        yield Finding("bad", "rights", text, f"as an administrator: grant service_role to {login}")
        return
    rows = connection.execute(
        render("select number, name, functions from penstock.schema_migrations order by number", schema).encode()
    ).fetchall()
    there, known = {number for number, *_ in rows}, migrations()
    missing = [str(each) for each in known if each.number not in there]
    try:
        contract.check(schema, one(connection, "select obj_description(to_regnamespace(%s))", quote_schema(schema)))
    except PenstockError as error:
        yield Finding("bad", "schema", str(error), migrate if missing else "pip install -U penstock")
        return
    at = f"penstock {version('penstock')}, {at_migration(schema, max(there, default=0))}"
    if missing:
        yield Finding("bad", "schema", f"{at}; missing: {', '.join(missing)}", migrate)
    elif max(there) > known[-1].number:
        yield Finding("warning", "schema", f"{at}, which a newer version made", "pip install -U penstock")
    elif rows[-1][2] != functions_digest():
        yield Finding("warning", "schema", f"{at}, with functions of another version", migrate)
    else:
        yield Finding("ok", "schema", at)


def _rights(_: Penstock, connection: Connection) -> Iterator[Finding]:
    missing = list(missing_rights(connection))
    for each in missing:
        what, do = each.split("; ", 1)
        yield Finding("warning", "rights", what, do)
    if not missing:
        yield Finding("ok", "rights", f"{connection.info.user} may serve requests of users")


def _notifications(app: Penstock, connection: Connection) -> Iterator[Finding]:
    """Whether what one session says is heard in another: a pooler in transaction mode would keep it."""
    del connection  # whose notifications wait for the end of its transaction
    with connect(app) as listening, connect(app) as telling:
        listening.execute("listen penstock_doctor")
        telling.execute("notify penstock_doctor")
        heard = next(iter(listening.notifies(timeout=HEARD_WITHIN, stop_after=1)), None)
    if heard is None:
        advice = "workers look around instead, a second late; give them the direct address (docs/guides/pgbouncer.md)"
        yield Finding("warning", "notifications", "do not arrive: is there a pooler in transaction mode?", advice)
    else:
        yield Finding("ok", "notifications", "arrive")


def _clocks(_: Penstock, connection: Connection) -> Iterator[Finding]:
    """Schedules fire by the workers' clocks, and what they make is due by the database's."""
    before = datetime.now(UTC)
    theirs = one(connection, "select clock_timestamp()")
    skew = (theirs - before).total_seconds()
    if abs(skew) > SKEW + (datetime.now(UTC) - before).total_seconds():
        text = f"the database is {abs(skew):.0f} s {'ahead of' if skew > 0 else 'behind'} this machine"
        yield Finding("warning", "clock", text, "set both by NTP: schedules and delays are as wrong as the clocks are")
    else:
        yield Finding("ok", "clock", "this machine and the database agree")


def _leases(app: Penstock, connection: Connection) -> Iterator[Finding]:
    leases = render(
        """select worker, extract(epoch from expires_at - length - clock_timestamp())::float,
                  extract(epoch from clock_timestamp() - expires_at)::float
             from penstock.leases_now where isfinite(expires_at) order by worker""",
        app.database.schema,
    )
    for worker, ahead, over in connection.execute(leases.encode()).fetchall():
        if ahead > SKEW:
            text = f"{worker} was last heard of {ahead:.0f} s from now: the database's clock was set back"
            yield Finding("warning", "leases", text, "restart that worker: should it die, its jobs would wait so long")
        elif over > SKEW:
            text = f"the lease of {worker} ended {over:.0f} s ago, and nobody has taken its jobs back"
            yield Finding("bad", "leases", text, "start a worker with a database, or penstock.maintain() by pg_cron")


_ADVICE = "a pooler in front (docs/guides/pgbouncer.md), a smaller Penstock(pool_size=…), or more max_connections"
_MOST = "current_setting('max_connections')::int - current_setting('superuser_reserved_connections')::int"


def _connections(_: Penstock, connection: Connection) -> Iterator[Finding]:
    used, most = connection.execute(
        f"select (select sum(numbackends)::int from pg_stat_database), {_MOST}".encode()  # noqa: S608 - of our own words
    ).fetchall()[0]
    text = f"{used} of {most} are in use"
    crowded = used > CROWDED * most
    yield Finding("warning", "connections", text, _ADVICE) if crowded else Finding("ok", "connections", text)


def _pools(app: Penstock, connection: Connection) -> Iterator[Finding]:
    """What there is once every worker is busy, whose handlers each want a connection."""
    workers, limit = connection.execute(
        render(
            f"""select (select count(*) from penstock.leases),
                       least({_MOST},
                             (select nullif(datconnlimit, -1) from pg_database where datname = current_database()),
                             (select nullif(rolconnlimit, -1) from pg_roles where rolname = current_user))""",  # noqa: S608 - of our own words
            app.database.schema,
        ).encode()
    ).fetchall()[0]
    wanted = workers * (app.database.pools.size + OF_A_WORKER)
    text = f"{counted(workers, 'worker')} may open {wanted} of {limit} connections"
    yield Finding("warning", "pools", text, _ADVICE) if wanted > limit else Finding("ok", "pools", text)


CHECKS: tuple[Check, ...] = (
    _server, _extensions, _schema, _rights, _notifications, _clocks, _connections
)  # fmt: skip
OF_SCHEMA: tuple[Check, ...] = (_leases, _pools)
"""For when that is there, and may be read."""
