"""Databases with a crowd of jobs. Tests look at them in transactions that they roll back; the large ones are kept."""

import hashlib
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from uuid import uuid4

import psycopg
from psycopg.conninfo import make_conninfo

from penstock.engine.postgres.migrate import migrate_on
from penstock.sql import functions, grants, migrations
from penstock.testing.database import migrated_template
from tests import slow
from tests.sql import crowd_rows
from tests.sql.crowd_rows import NOON

MOST = 1_000_000 if slow.asked_for else 250_000
"""Jobs of each sort in a large crowd. A million take each server 40 s. With fewer than these, the backlog of one tenant
would not fill two windows of a claim."""

Connection = psycopg.Connection[Any]
_COMMENT = "select shobj_description(oid, 'pg_database') from pg_database where datname = %s"


@dataclass(frozen=True)
class Crowd:
    """How many jobs of each sort there are; with the statistics of tables just vacuumed, or with none at all."""

    ready: int
    scheduled: int
    finished: int
    analyzed: bool = True

    def __str__(self) -> str:
        return f"{self.ready}-{'analyzed' if self.analyzed else 'unknown'}"

    @contextmanager
    def opened(self, server: str) -> Iterator[str]:
        """The address of its database: one for all runs if it is large, one for this process otherwise."""
        with psycopg.connect(server, autocommit=True) as connection:
            if self.ready >= 100_000:
                yield self._join(connection, server)
            else:
                name = f"crowd_{_version()}_{uuid4().hex}"
                connection.execute(
                    f'create database "{name}" template "{migrated_template(server)}" strategy file_copy'.encode()
                )
                _set_clock(connection, name)
                with psycopg.connect(make_conninfo(server, dbname=name)) as inside:
                    self._insert(inside)
                if self.analyzed:
                    _analyze(server, name)
                yield make_conninfo(server, dbname=name)
                connection.execute(f'drop database "{name}" with (force)'.encode())

    def _join(self, connection: Connection, server: str) -> str:
        """Both databases of this size are made in one go: later, when in use, the one could not be copied."""
        unknown = f"crowd_{_version()}_{self.ready}_{self.scheduled}_{self.finished}"
        analyzed = f"{unknown}_analyzed"
        connection.execute("select pg_advisory_lock(hashtextextended(%s, 0))", [unknown])
        if not connection.execute("select 1 from pg_database where datname = %s", [unknown]).fetchone():
            for name in (analyzed, f"{unknown}_new"):
                connection.execute(f'drop database if exists "{name}" with (force)'.encode())
            _drop_outdated(connection)
            self._fill(connection, server, f"{unknown}_new")
            connection.execute(f'create database "{analyzed}" template "{unknown}_new" strategy file_copy'.encode())
            _set_clock(connection, analyzed)
            _analyze(server, analyzed)
            connection.execute(f'alter database "{unknown}_new" rename to "{unknown}"'.encode())
        name = analyzed if self.analyzed else unknown
        url = make_conninfo(server, dbname=name)
        if connection.execute(_COMMENT, [name]).fetchone() != (_functions(),):
            # once, and not below the tests of another process: functions that are replaced are planned anew
            with psycopg.connect(url) as inside:
                migrate_on(inside)
            connection.execute(f"comment on database \"{name}\" is '{_functions()}'".encode())
        connection.execute("select pg_advisory_unlock(hashtextextended(%s, 0))", [unknown])
        return url

    def _fill(self, connection: Connection, server: str, name: str) -> None:
        connection.execute(f'create database "{name}" template template0'.encode())
        _set_clock(connection, name)
        # in the transaction that makes the tables, so that nothing of it need be logged
        with psycopg.connect(make_conninfo(server, dbname=name)) as inside, inside.transaction():
            migrate_on(inside)
            self._insert(inside)

    def _insert(self, inside: Connection) -> None:
        for statement in crowd_rows.rows(self.ready, self.scheduled, self.finished):
            inside.execute(statement.encode())


def _set_clock(connection: Connection, name: str) -> None:
    connection.execute(f"alter database \"{name}\" set penstock_clock.now = '{NOON}'".encode())


def _analyze(server: str, name: str) -> None:
    with psycopg.connect(make_conninfo(server, dbname=name), autocommit=True) as inside:
        inside.execute("vacuum analyze")


def _version() -> str:
    """Of what the databases hold: these rows in these tables."""
    content = [Path(crowd_rows.__file__).read_text("utf-8"), *(migration.text for migration in migrations())]
    return hashlib.sha256("".join(content).encode()).hexdigest()[:12]


def _functions() -> str:
    """Of what may be newer than these databases."""
    return hashlib.sha256((functions() + grants()).encode()).hexdigest()[:12]


def _drop_outdated(connection: Connection) -> None:
    found = connection.execute("select datname from pg_database where datname like 'crowd\\_%'").fetchall()
    for (name,) in found:
        if not name.startswith(f"crowd_{_version()}_"):
            with suppress(psycopg.errors.ObjectInUse):
                connection.execute(f'drop database "{name}"'.encode())
