"""Databases full of jobs, made once and kept: tests look at them in transactions that they roll back."""

import hashlib
from dataclasses import dataclass
from pathlib import Path

import psycopg
from psycopg.conninfo import make_conninfo

from penstock.engine.migrate import migrate_on
from penstock.sql import migrations

NOON = "2025-01-31 12:00:00+00"
"""The engine's time in these databases: what is due then is due whenever the test runs."""

# Ids are UUIDv7 of the days before noon in steps, with the row's number at their end.
_ID = """(lpad(to_hex((extract(epoch from timestamptz '{noon}') * 1000)::bigint - 2592000000 + (i * 2592000000::bigint / {rows})), 12, '0')
  || '7{salt:03x}8' || lpad(to_hex(i), 15, '0'))::uuid"""

_LIVE = """
insert into penstock.jobs (id, created_at, run_at, state, queue, kind, {columns})
select {id}, timestamptz '{noon}' - interval '1 hour', {run_at}, '{state}', '{queue}', 'crowd', {values}
  from generate_series(1, {rows}) as i
"""
_FINISHED = """
insert into penstock.history (id, created_at, run_at, finished_at, turn, state, priority, attempt, max_attempts, claims,
  snoozes, awaited, queue, kind, owner, parent, args)
select {id}, timestamptz '{noon}', timestamptz '{noon}', timestamptz '{noon}', 0,
       case when i % 50 = 0 then 'failed' else 'succeeded' end::penstock.job_state, 0, 1, 5, 1, 0, false, 'busy', 'crowd',
       case when i % 10 = 0 then 'owner ' || i % 2000 end, case when i % 20 = 0 then {parent} end, '{{}}'
  from generate_series(1, {rows}) as i
"""


@dataclass(frozen=True)
class Crowd:
    """How many jobs of each sort there are; with the statistics of a table that was vacuumed, or without any."""

    ready: int
    scheduled: int
    finished: int
    analyzed: bool = True

    @property
    def database(self) -> str:
        content = [Path(__file__).read_text(), *(migration.text for migration in migrations())]
        version = hashlib.sha256("".join(content).encode()).hexdigest()[:12]
        statistics = "analyzed" if self.analyzed else "unknown"
        return f"crowd_{version}_{self.ready}_{self.scheduled}_{self.finished}_{statistics}"

    def open(self, server: str) -> str:
        """The address of the database, which is made if nobody has yet."""
        url = make_conninfo(server, dbname=self.database)
        with psycopg.connect(server, autocommit=True) as connection:
            connection.execute("select pg_advisory_lock(7355609)")
            if not _exists(connection, self.database):
                self._make(connection)
            with psycopg.connect(url) as crowd:
                migrate_on(crowd)
        return url

    def _make(self, connection: psycopg.Connection[object]) -> None:
        kin = Crowd(self.ready, self.scheduled, self.finished, not self.analyzed)
        draft = f"{self.database}_new"
        connection.execute(f'drop database if exists "{draft}" with (force)'.encode())
        if self.analyzed:
            bare = Crowd(self.ready, self.scheduled, self.finished, analyzed=False)
