"""Throw-away databases: a server to make them on, a migrated template, and a copy of it for each test."""

import hashlib
import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any
from uuid import uuid4

import psycopg
from psycopg.conninfo import make_conninfo

from penstock import embedded
from penstock.engine.postgres.migrate import migrate_on
from penstock.sql import functions, grants, migrations

if TYPE_CHECKING:
    from penstock.app import Penstock

_SCHEMA = "penstock"
_OURS = "penstock_test_"
_LOCK = 7355608
_TO_THE_DATABASE = re.compile(r"^(\w+://[^/?]*)(/[^?]*)?")


@contextmanager
def embedded_server(folder: Path) -> Iterator[str]:
    """The address of a server where tests may do as they like. Processes that name the same folder share it."""
    binaries = os.environ.get("PENSTOCK_PG_BIN", "wheel").strip("/").replace("/", "-")
    # Tests need no survival of a power cut. Each of their databases takes two checkpoints, after which whole pages
    # would be written.
    settings = {"fsync": "off", "full_page_writes": "off", "max_connections": "400", "max_wal_size": "512MB"}
    with embedded.start(folder / binaries, settings=settings) as postgres:
        yield postgres.url


def migrated_template(server: str) -> str:
    """The name of a migrated database to be copied for each test, made once for each state of the SQL."""
    everything = "".join(migration.text for migration in migrations()) + functions() + grants()
    name = f"penstock_template_{hashlib.sha256(everything.encode()).hexdigest()[:16]}"
    with psycopg.connect(server, autocommit=True) as connection:
        connection.execute("select pg_catalog.pg_advisory_lock(%s)", [_LOCK])
        _drop_leftovers(connection)
        if not connection.execute("select 1 from pg_database where datname = %s", [name]).fetchone():
            # whoever was killed while making it left a half-made one
            connection.execute(f'drop database if exists "{name}_new" with (force)'.encode())
            connection.execute(f'create database "{name}_new" template template0'.encode())
            address = address_of(server, f"{name}_new")
            with psycopg.connect(address) as fresh:
                migrate_on(fresh, _SCHEMA)
            # whoever connects first stores what all begin with. The copies have it from here: 5 of their 33 ms of CPU
            with psycopg.connect(address) as first:
                first.execute("select 1")
            connection.execute(f'alter database "{name}_new" rename to "{name}"'.encode())
    return name


@contextmanager
def throw_away(server: str, template: str = "template0") -> Iterator[str]:
    """The address of a database of its own: a copy of the template, dropped in the end."""
    with psycopg.connect(server, autocommit=True) as connection, copied(connection, server, template) as url:
        yield url


@contextmanager
def copied(connection: psycopg.Connection[Any], server: str, template: str) -> Iterator[str]:
    """The same, made and dropped on this connection to the server."""
    name = f"{_OURS}{datetime.now(UTC):%Y%m%d}_{uuid4().hex}"
    connection.execute(f'create database "{name}" template "{template}" strategy {_strategy(connection)}'.encode())
    try:
        yield address_of(server, name)
    finally:
        connection.execute(f'drop database "{name}" with (force)'.encode())


def _strategy(connection: psycopg.Connection[Any]) -> str:
    """Copying files takes two checkpoints, which are next to nothing where fsync is off: 17 ms instead of 120."""
    return "file_copy" if connection.execute("show fsync").fetchone() == ("off",) else "wal_log"


def address_of(server: str, database: str) -> str:
    """The address of another database of the server; a URL stays one, for those who hand it to other libraries."""
    if "://" in server:
        return _TO_THE_DATABASE.sub(lambda found: f"{found[1]}/{database}", server)
    return make_conninfo(server, dbname=database)


class ThrowAwayDatabase:
    """A test's own database, and the apps that were pointed at it: what the fixture `penstock_database` gives.

    ```python
    def test_somebody_is_greeted(penstock_database):
        penstock_database.use(app)
        assert greet.enqueue("Ada").refresh().state == "ready"
    ```
    """

    def __init__(self, url: str) -> None:
        self.url = url
        self._borrowed: list[tuple[Penstock, str | None]] = []

    def use(self, app: "Penstock") -> "Penstock":
        """Points the app at this database until the end of the test."""
        self._borrowed.append((app, app.connect_to(self.url)))
        if app.database.schema != _SCHEMA:
            app.migrate()
        return app

    def give_back(self) -> None:
        """Points each app at the database it had before."""
        while self._borrowed:
            app, before = self._borrowed.pop()
            app.connect_to(before)


def _drop_leftovers(connection: psycopg.Connection[Any]) -> None:
    """Drops what runs that were killed have left behind; of the last two days, because those may still be running."""
    oldest = f"{_OURS}{datetime.now(UTC) - timedelta(days=1):%Y%m%d}"
    found = connection.execute(
        'select datname from pg_database where pg_catalog.starts_with(datname, %s) and datname collate "C" < %s',
        [_OURS, oldest],
    ).fetchall()
    for (name,) in found:
        connection.execute(f'drop database if exists "{name}" with (force)'.encode())
