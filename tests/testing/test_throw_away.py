"""Throw-away databases: each alone, none left behind."""

from uuid import uuid4

import psycopg
import pytest
from psycopg.conninfo import conninfo_to_dict

from penstock import Penstock
from penstock.sql import functions
from penstock.testing import database
from penstock.testing.database import ThrowAwayDatabase, address_of, migrated_template, throw_away


def _databases(server: str) -> set[str]:
    with psycopg.connect(server) as connection:
        return {name for (name,) in connection.execute("select datname from pg_database").fetchall()}


def test_a_database_is_gone_after_its_test_although_somebody_is_connected(server: str, template: str) -> None:
    with throw_away(server, template) as url:
        connection = psycopg.connect(url)
        name = connection.info.dbname
        assert connection.execute("select count(*) from penstock.jobs").fetchall() == [(0,)]
        assert name in _databases(server)
    assert name not in _databases(server)
    connection.close()


def test_what_a_killed_run_left_long_ago_is_dropped_and_what_may_be_in_use_is_not(server: str) -> None:
    old = f"penstock_test_20200101_{uuid4().hex}"
    with psycopg.connect(server, autocommit=True) as connection, throw_away(server) as url:
        connection.execute(f'create database "{old}"'.encode())
        migrated_template(server)
        assert old not in _databases(server)
        assert conninfo_to_dict(url)["dbname"] in _databases(server)


def test_a_half_made_template_is_made_anew(server: str, monkeypatch: pytest.MonkeyPatch) -> None:
    another_state = f"{functions()}-- {uuid4()}\n"
    monkeypatch.setattr(database, "functions", lambda: another_state)

    def fail(*_: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as broken:
        broken.setattr(database, "migrate_on", fail)
        with pytest.raises(KeyboardInterrupt):
            migrated_template(server)
    template = migrated_template(server)
    try:
        assert migrated_template(server) == template
        with throw_away(server, template) as url, Penstock(url) as app:
            assert list(app.jobs.each()) == []
    finally:
        with psycopg.connect(server, autocommit=True) as connection:
            connection.execute(f'drop database "{template}"'.encode())


@pytest.mark.parametrize(
    ("server", "address"),
    [
        ("postgresql://ada:x@host:5433/postgres?sslmode=require", "postgresql://ada:x@host:5433/db?sslmode=require"),
        ("postgresql://host", "postgresql://host/db"),
        ("postgresql:///postgres?host=/run/a", "postgresql:///db?host=/run/a"),
        ("postgres://ada@?host=/run/a", "postgres://ada@/db?host=/run/a"),
        ("host=/run/a dbname=postgres", "host=/run/a dbname=db"),
    ],
)
def test_the_address_of_a_database_has_the_form_of_the_server_s(server: str, address: str) -> None:
    assert conninfo_to_dict(address_of(server, "db")) == conninfo_to_dict(address)
    assert ("://" in address_of(server, "db")) == ("://" in address)


def test_an_app_with_a_schema_of_its_own_is_migrated_there(url: str, empty_url: str) -> None:
    own = ThrowAwayDatabase(url)
    with Penstock(empty_url, schema="jobs") as app:
        assert own.use(app) is app
        assert list(app.jobs.each()) == []
        own.give_back()
        assert app.url() == empty_url
