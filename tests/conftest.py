"""A real Postgres for the tests: one embedded server for the whole run, and a database of its own for each test."""

import signal
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import psycopg
import pytest

from penstock.engine import PostgresEngine
from penstock.testing.database import embedded_server, migrated_template, throw_away
from tests import slow
from tests.databases import DatabasesAhead

pytest_plugins = ["tests.time_limit"]

if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    # as in the background of a shell script: the programs that tests interrupt would inherit it, and never end
    signal.signal(signal.SIGINT, signal.default_int_handler)


def pytest_configure(config: pytest.Config) -> None:
    slow.ask(config.option.markexpr)


CACHE = Path(__file__).parent.parent / ".cache"
Connect = Callable[[], psycopg.Connection[Any]]


@pytest.fixture(scope="session")
def server() -> Iterator[str]:
    """The address of a server where the tests may do as they like. Parallel runs of pytest share it."""
    with embedded_server(CACHE / "postgres") as url:
        yield url


@pytest.fixture(scope="session")
def template(server: str) -> str:
    """A migrated database to be copied for each test, made once for each state of the SQL."""
    return migrated_template(server)


@pytest.fixture(scope="session")
def databases(server: str, template: str) -> Iterator[DatabasesAhead]:
    databases = DatabasesAhead(server, template)
    yield databases
    databases.close()


@pytest.fixture
def url(databases: DatabasesAhead) -> Iterator[str]:
    """The address of a fresh, migrated database."""
    made = databases.take()
    yield made[0]
    databases.give_back(made)


@pytest.fixture
def empty_url(server: str) -> Iterator[str]:
    """The address of an empty database."""
    with throw_away(server) as url:
        yield url


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
