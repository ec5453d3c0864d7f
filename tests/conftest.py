"""A real Postgres for the tests: one embedded server for the whole run, and a database of its own for each test."""

import hashlib
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from uuid import uuid4

import psycopg
import pytest
from psycopg.conninfo import make_conninfo

from penstock import embedded
from penstock.engine import PostgresEngine
from penstock.engine.migrate import migrate_on
from penstock.sql import functions, migrations

CACHE = Path(__file__).parent.parent / ".cache"
Connect = Callable[[], psycopg.Connection[Any]]


@pytest.fixture(scope="session")
def server() -> Iterator[str]:
    """The address of a server where the tests may do as they like. Parallel runs of pytest share it."""
    binaries = os.environ.get("PENSTOCK_PG_BIN", "wheel").strip("/").replace("/", "-")
    # the tests need no survival of a power cut; those that do start servers of their own
    settings = {"fsync": "off", "max_connections": "400", "max_wal_size": "2GB"}
    with embedded.start(CACHE / "postgres" / binaries, settings=settings) as postgres:
        yield postgres.url


@pytest.fixture(scope="session")
def template(server: str) -> str:
    """A migrated database to be copied for each test, made once for each state of the SQL."""
    everything = "".join(migration.text for migration in migrations()) + functions()
    name = f"template_{hashlib.sha256(everything.encode()).hexdigest()[:16]}"
    with psycopg.connect(server, autocommit=True) as connection:
        connection.execute("select pg_advisory_lock(7355608)")
        if not connection.execute("select 1 from pg_database where datname = %s", [name]).fetchone():
            connection.execute(f'create database "{name}_new"'.encode())
            with psycopg.connect(make_conninfo(server, dbname=f"{name}_new")) as fresh:
                migrate_on(fresh)
            connection.execute(f'alter database "{name}_new" rename to "{name}"'.encode())
    return name


@pytest.fixture
def url(server: str, template: str) -> Iterator[str]:
    """The address of a fresh, migrated database."""
    name = f"test_{uuid4().hex}"
    with psycopg.connect(server, autocommit=True) as connection:
        connection.execute(f'create database "{name}" template "{template}"'.encode())
        try:
            yield make_conninfo(server, dbname=name)
        finally:
            connection.execute(f'drop database "{name}" with (force)'.encode())


@pytest.fixture
def empty_url(server: str) -> Iterator[str]:
    """The address of an empty database."""
    name = f"test_{uuid4().hex}"
    with psycopg.connect(server, autocommit=True) as connection:
        connection.execute(f'create database "{name}" template template0'.encode())
        try:
            yield make_conninfo(server, dbname=name)
        finally:
            connection.execute(f'drop database "{name}" with (force)'.encode())


@pytest.fixture
def engine(url: str) -> Iterator[PostgresEngine]:
    engine = PostgresEngine(lambda: url)
    yield engine
    engine.close()


@pytest.fixture
def connect(url: str) -> Iterator[Connect]:
    """Opens autocommit connections to the test's database and closes them in the end."""
    opened: list[psycopg.Connection[Any]] = []

    def open_one() -> psycopg.Connection[Any]:
        opened.append(psycopg.connect(url, autocommit=True))
        return opened[-1]

    yield open_one
    for connection in opened:
        connection.close()
