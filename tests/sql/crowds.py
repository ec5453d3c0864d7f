"""Databases full of jobs, made once and kept: tests look at them in transactions that they roll back."""

import hashlib
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import psycopg
from psycopg.conninfo import make_conninfo

from penstock.engine.migrate import migrate_on
from penstock.sql import migrations

NOON = "2025-01-31 12:00:00+00"
"""The engine's time in these databases: what is due then is due whenever the test runs."""

DAYS = 30
"""Over so many days before noon the jobs were enqueued."""


@dataclass(frozen=True)
class Crowd:
    """How many jobs of each sort there are; with the statistics of tables just vacuumed, or with none at all."""

    ready: int
    scheduled: int
    finished: int
    analyzed: bool = True

    def __str__(self) -> str:
        return f"{self.ready}-{'analyzed' if self.analyzed else 'unknown'}"

    @property
    def database(self) -> str:
        statistics = "analyzed" if self.analyzed else "unknown"
        return f"crowd_{_version()}_{self.ready}_{self.scheduled}_{self.finished}_{statistics}"

    def open(self, server: str) -> str:
        """The address of the database, which is made if nobody has yet."""
        with psycopg.connect(server, autocommit=True) as connection:
            connection.execute("select pg_advisory_lock(7355609)")
            self._make(connection, server)
        url = make_conninfo(server, dbname=self.database)
        with psycopg.connect(url) as inside:
            migrate_on(inside)
        return url

    def _make(self, connection: psycopg.Connection[Any], server: str) -> None:
        if connection.execute("select 1 from pg_database where datname = %s", [self.database]).fetchone():
            return
        unknown = replace(self, analyzed=False)
        if self.analyzed:
            unknown._make(connection, server)
        else:
            _drop_outdated(connection)
        source = f'"{unknown.database}" strategy file_copy' if self.analyzed else "template0"
        connection.execute('drop database if exists "crowd_new" with (force)')
        connection.execute(f'create database "crowd_new" template {source}'.encode())
        url = make_conninfo(server, dbname="crowd_new")
        if self.analyzed:
            with psycopg.connect(url, autocommit=True) as inside:
                inside.execute("vacuum analyze")
        else:
            # in the transaction that makes the tables, so that nothing of it need be logged
            with psycopg.connect(url) as inside:
                migrate_on(inside)
                for statement in self._rows():
                    inside.execute(statement.encode())
        connection.execute(f'alter database "crowd_new" set penstock_clock.now = \'{NOON}\''.encode())
        connection.execute(f'alter database "crowd_new" rename to "{self.database}"'.encode())

    def _rows(self) -> Iterator[str]:
        yield f"""
            update penstock.settings set partitions_ahead = {DAYS + 1};
            select set_config('penstock_clock.now', (timestamptz '{NOON}' - interval '{DAYS} days')::text, true);
            select penstock.add_partitions();
            update penstock.settings set partitions_ahead = 3;
            insert into penstock.leases (id, worker, length, started_at, expires_at) overriding system value
            select i, 'worker ' || i, '1 day', '{NOON}', timestamptz '{NOON}' + interval '1 day'
              from generate_series(1, 20) as i;
            select setval(pg_get_serial_sequence('penstock.leases', 'id'), 20)"""
        yield _live(
            "ready", "busy", self.ready, 1,
            owner="case when i % 10 = 0 then 'owner ' || i % 2000 end",
            unique_key="case when i % 10 = 1 then 'key ' || i end",
            priority="case when i % 100 = 0 then 5 else 0 end",
        )  # fmt: skip
        # one tenant's backlog lies before all the others'
        yield _live(
            "ready", "keyed", self.ready // 10, 2,
            limit_key=f"case when i <= {self.ready // 11} then 'whale' else 'tenant ' || i % 50 end",
        )  # fmt: skip
        yield _live("running", "busy", self.ready // 50, 3, lease="1 + i % 20", claims="1", attempt="1")
        yield _live("running", "keyed", self.ready // 50, 4, lease="1 + i % 20", claims="1", attempt="1",
                    counted="true", limit_key="'tenant ' || i % 5000")  # fmt: skip
        yield _live("blocked", "flows", self.ready // 100, 5, waiting_on="5", rollup="'{}'")
        yield _live("ready", "flows", self.ready // 20, 6, parent=_id("(i + 4) / 5", self.ready // 100, 5))
        yield _live("scheduled", "busy", self.scheduled, 7, run_at=f"timestamptz '{NOON}' + i * interval '1 minute'")
        yield f"""
            insert into penstock.edges (job, waits_for)
            select {_id("i", self.ready // 100, 5)}, {_id("i", self.ready // 20, 6)}
              from generate_series(1, {self.ready // 100}) as i"""
        yield f"""
            insert into penstock.history (id, created_at, run_at, finished_at, turn, state, priority, attempt,
              max_attempts, claims, snoozes, awaited, queue, kind, owner, parent, args)
            select {_id("i", self.finished, 8)}, '{NOON}', '{NOON}', '{NOON}', 0,
                   case when i % 50 = 0 then 'failed' else 'succeeded' end::penstock.job_state, 0, 1,
                   5, 1, 0, false, 'busy', 'crowd', case when i % 10 = 0 then 'owner ' || i % 2000 end,
                   case when i % 20 = 0 then {_id("i", self.finished, 9)} end, '{{}}'
              from generate_series(1, {self.finished}) as i"""


def _live(state: str, queue: str, rows: int, sort: int, **columns: str) -> str:
    columns = {"run_at": f"timestamptz '{NOON}'"} | columns
    return f"""
        insert into penstock.jobs (id, created_at, state, queue, kind, {", ".join(columns)})
        select {_id("i", rows, sort)}, '{NOON}', '{state}', '{queue}', 'crowd', {", ".join(columns.values())}
          from generate_series(1, {rows}) as i"""


def _id(number: str, rows: int, sort: int) -> str:
    """The id of a row by its number: a UUIDv7, the rows of a sort spread evenly over the days before noon."""
    step = DAYS * 86_400_000 // max(rows, 1)
    start = f"(extract(epoch from timestamptz '{NOON}' - interval '{DAYS} days') * 1000)::bigint"
    millisecond = f"lpad(to_hex({start} + ({number}) * {step}::bigint), 12, '0')"
    return f"({millisecond} || '700{sort}8' || lpad(to_hex({number}), 15, '0'))::uuid"


def id_of_finished(number: int, crowd: Crowd) -> str:
    """SQL for the id of a finished job of the crowd, counted from 1."""
    return _id(str(number), crowd.finished, 8)


def _version() -> str:
    """Of what the databases hold: these rows in these tables."""
    content = [Path(__file__).read_text(), *(migration.text for migration in migrations())]
    return hashlib.sha256("".join(content).encode()).hexdigest()[:12]


def _drop_outdated(connection: psycopg.Connection[Any]) -> None:
    found = connection.execute("select datname from pg_database where datname like 'crowd\\_%'").fetchall()
    for (name,) in found:
        if not name.startswith(f"crowd_{_version()}_"):
            with suppress(psycopg.errors.ObjectInUse):
                connection.execute(f'drop database "{name}"'.encode())
