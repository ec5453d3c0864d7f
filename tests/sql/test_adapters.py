"""SQL adapters: added by `penstock migrate --with`, remembered by the database, kept up to date, removed."""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

import psycopg
import pytest

from penstock import Penstock
from penstock.engine.postgres import adapters as in_database
from penstock.engine.postgres.migrate import migrate
from penstock.errors import InvalidInput, PenstockError
from penstock.sql.adapters import Adapter, adapters
from tests.cli.conftest import Command


@pytest.fixture
def connection(empty_url: str) -> Iterator[psycopg.Connection[Any]]:
    with psycopg.connect(empty_url, autocommit=True) as connection:
        yield connection


@pytest.fixture
def command(empty_url: str) -> Command:
    return Command({"DATABASE_URL": empty_url, "COLUMNS": "200"})


def has_schema(connection: psycopg.Connection[Any], name: str) -> bool:
    return connection.execute("select to_regnamespace(%s) is not null", [name]).fetchone() == (True,)


def test_an_adapter_is_added_remembered_and_removed(
    command: Command, empty_url: str, connection: psycopg.Connection[Any]
) -> None:
    [added] = command.lines("migrate", "--with", "pgmq")
    assert "pgmq 0001_messages, pgmq 0002_arguments, pgmq functions" in added
    assert has_schema(connection, "pgmq")
    # it is idempotent, asked for or not
    for again in (["migrate", "--with", "pgmq"], ["migrate"]):
        assert command.lines(*again) == ["schema penstock: is up to date"]
    assert "pgmq is there" in command("doctor").stdout

    assert command.lines("migrate", "--without", "pgmq") == ["schema penstock: applied pgmq removal"]
    assert not has_schema(connection, "pgmq")
    assert "adapter" not in command("doctor").stdout
    assert command.lines("migrate", "--without", "pgmq") == ["schema penstock: is up to date"]
    with Penstock(empty_url) as app:
        added_again = ("pgmq 0001_messages", "pgmq 0002_arguments", "pgmq functions")
        assert app.migrate(with_=["pgmq"]).applied == added_again


def test_an_adapter_of_another_version_is_brought_up_to_date(
    command: Command, empty_url: str, connection: psycopg.Connection[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    migrate(empty_url, with_=["pgmq"])
    newer = replace(adapters()["pgmq"], script="create function pgmq.from_tomorrow() returns int return 1")

    def known() -> Mapping[str, Adapter]:
        return {"pgmq": newer}

    monkeypatch.setattr(in_database, "adapters", known)
    assert "pgmq is of another version" in command("doctor").stdout
    assert migrate(empty_url).applied == ("pgmq functions",)
    assert connection.execute("select pgmq.from_tomorrow()").fetchone() == (1,)
    assert not migrate(empty_url).changed


def test_an_unknown_adapter_is_refused_by_name(empty_url: str, connection: psycopg.Connection[Any]) -> None:
    with pytest.raises(InvalidInput, match=r"with: there is no adapter 'pgmw' \(did you mean 'pgmq'\?\)"):
        migrate(empty_url, with_=["pgmw"])
    with pytest.raises(InvalidInput, match=r"with: there is no adapter 'x'; there are .*pgmq"):
        migrate(empty_url, with_=["x"])
    assert not has_schema(connection, "penstock")


def test_a_database_with_another_pgmq_is_refused_and_left_alone(
    empty_url: str, connection: psycopg.Connection[Any]
) -> None:
    connection.execute("create schema pgmq; create table pgmq.meta (queue_name text)")
    with pytest.raises(PenstockError, match=r"^pgmq: there is a schema pgmq"):
        migrate(empty_url, with_=["pgmq"])
    assert not has_schema(connection, "penstock")
    migrate(empty_url)
    with pytest.raises(PenstockError, match=r"^pgmq: there is a schema pgmq"):
        migrate(empty_url, with_=["pgmq"])


def test_another_schema_of_the_engine_may_have_it(empty_url: str, connection: psycopg.Connection[Any]) -> None:
    migrate(empty_url, "My Jobs", with_=["pgmq"])
    assert not migrate(empty_url, "My Jobs").changed
    with pytest.raises(PenstockError, match=r"^pgmq: there is a schema pgmq"):
        migrate(empty_url, with_=["pgmq"])
