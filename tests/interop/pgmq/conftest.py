"""A database with pgmq's SQL, shared by the tests: each has a queue of its own."""

from collections.abc import Callable, Iterator
from itertools import count
from typing import Any

import psycopg
import pytest

from penstock.engine.postgres.migrate import migrate
from penstock.testing.database import throw_away

Rows = list[tuple[Any, ...]]
Sql = Callable[..., Rows]


@pytest.fixture(scope="session")
def pgmq_url(server: str, template: str) -> Iterator[str]:
    with throw_away(server, template) as url:
        migrate(url, with_=["pgmq"])
        yield url


@pytest.fixture
def connection(pgmq_url: str) -> Iterator[psycopg.Connection[Any]]:
    with psycopg.connect(pgmq_url, autocommit=True) as connection:
        yield connection


@pytest.fixture
def sql(connection: psycopg.Connection[Any]) -> Sql:
    def run(text: str, *values: object) -> Rows:
        return connection.execute(text.encode(), values or None).fetchall()

    return run


_numbers = count(1)


@pytest.fixture
def queue(sql: Sql) -> Iterator[str]:
    """A queue of the test's own, in capitals, which pgmq does not mind."""
    name = f"Queue-{next(_numbers)}"
    sql("select pgmq.create(%s)", name)
    yield name
    sql("select pgmq.drop_queue(%s)", name)
