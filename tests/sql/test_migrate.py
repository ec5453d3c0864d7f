import re
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier
from types import SimpleNamespace
from typing import Any, cast
from uuid import uuid4

import psycopg
import pytest

from penstock.engine import commands
from penstock.engine.postgres.engine import PostgresEngine
from penstock.engine.postgres.migrate import Migrated, migrate, migrate_on
from penstock.errors import InvalidInput, NotMigrated, PenstockError, SchemaTooNew, SchemaTooOld
from penstock.job import JobState, NewJob
from penstock.sql import migrations, render
from penstock.testing.database import address_of
from tests.channels import listen
from tests.kit import saying


@pytest.fixture
def empty(empty_url: str) -> Iterator[psycopg.Connection[Any]]:
    with psycopg.connect(empty_url, autocommit=True) as connection:
        yield connection


def test_a_migrated_database_is_left_alone(empty_url: str) -> None:
    first = migrate(empty_url)
    assert first.applied == tuple(f"{migration.number:04}_{migration.name}" for migration in migrations())
    assert first.changed
    assert migrate(empty_url) == Migrated(applied=(), functions_replaced=False)


def test_of_ten_who_migrate_at_once_one_does_it_and_all_succeed(empty_url: str) -> None:
    together = Barrier(10)

    def migrate_with_the_others(_: int) -> Migrated:
        together.wait()
        return migrate(empty_url)

    with ThreadPoolExecutor(10) as threads:
        done = list(threads.map(migrate_with_the_others, range(10)))
    assert sorted(each.changed for each in done) == [False] * 9 + [True]


def test_a_migration_commits_or_rolls_back_with_the_caller(empty_url: str, empty: psycopg.Connection[Any]) -> None:
    with psycopg.connect(empty_url) as connection, connection.transaction(force_rollback=True):
        assert migrate_on(connection).changed
    assert empty.execute("select to_regnamespace('penstock') is null").fetchone() == (True,)


@pytest.mark.parametrize("schema", ["penstock_2", "My Jobs", "jöbs", "a.b-c;d"])
def test_a_schema_may_have_almost_any_name(empty_url: str, schema: str) -> None:
    migrate(empty_url, schema)
    assert not migrate(empty_url, schema).changed
    engine = PostgresEngine(lambda: empty_url, schema=schema)
    [enqueued] = engine.enqueue([NewJob(kind="greet")])
    lease = engine.run(commands.OpenLease("worker"))
    claimed = engine.run(commands.Claim(lease, "default", 10))
    assert engine.run(saying.complete(lease, claimed)) == []
    job = engine.run(commands.GetJob(enqueued.id))
    assert job is not None
    assert job.state is JobState.SUCCEEDED
    assert engine.run(commands.Maintain()) is not None
    engine.close()


@pytest.mark.needs_session("hears notifications: LISTEN belongs to a session")
def test_two_schemas_in_one_database_know_nothing_of_each_other(empty_url: str, empty: psycopg.Connection[Any]) -> None:
    names = ("penstock", "My Jobs")
    engines = {name: PostgresEngine(lambda: empty_url, schema=name) for name in names}
    sorts: dict[str, tuple[str, str]] = {}
    for name in names:
        migrate(empty_url, name)
        sorts |= {channel: (sort, name) for channel, sort in listen(empty, "wake", "job", schema=name).items()}

    for name, engine in engines.items():
        lease = engine.run(commands.OpenLease("worker"))
        empty.execute(render("select penstock.wait_for_work(%s, '{default}')", name).encode(), [lease])
        [enqueued] = engine.enqueue([NewJob(kind="greet")])
        assert [sorts[each.channel] for each in empty.notifies(timeout=5, stop_after=1)] == [("wake", name)]
        claimed = engine.run(commands.Claim(lease, "default", 10))
        assert [job.id for job in claimed] == [enqueued.id]
        assert engine.run(commands.Watch(enqueued.id))
        assert engine.run(saying.complete(lease, claimed)) == []
        assert [sorts[each.channel] for each in empty.notifies(timeout=5, stop_after=1)] == [("job", name)]
        engine.close()

    for name in names:
        finished = empty.execute(render("select count(*) from penstock.history", name).encode()).fetchone()
        assert finished == (1,)


@pytest.mark.parametrize(
    "schema",
    ["", "pg_jobs", 'a"b', "a'b", "a\\b", "a$b", "a%b", "a{b", "a\nb", "a\x00b", "x" * 64, "ü" * 32],
)
def test_a_schema_name_that_sql_cannot_carry_is_refused(empty_url: str, schema: str) -> None:
    with pytest.raises(InvalidInput, match="cannot be used") as refused:
        migrate(empty_url, schema)
    assert refused.value.field == "schema"


def test_a_database_of_a_newer_penstock_is_refused(empty_url: str, empty: psycopg.Connection[Any]) -> None:
    migrate(empty_url)
    empty.execute("insert into penstock.schema_migrations (number, name) values (9999, 'from the future')")
    with pytest.raises(SchemaTooNew, match=r"at migration 9999, but .* knows only .*: upgrade Penstock"):
        migrate(empty_url)


def test_a_database_of_the_layout_before_the_first_release_is_refused(
    empty_url: str, empty: psycopg.Connection[Any]
) -> None:
    migrate(empty_url, "My Jobs")
    earlier = """update "My Jobs".schema_migrations set name = 'tables' where number = 1"""
    # it had more migrations than there are now, but a newer Penstock would not help
    empty.execute(earlier)
    empty.execute("""insert into "My Jobs".schema_migrations (number, name) values (9999, 'declared_queues')""")
    with pytest.raises(SchemaTooOld, match=r"'My Jobs' has tables of a layout .*") as refused:
        migrate(empty_url, "My Jobs")
    assert str(refused.value).count(". ") == 0
    [advice] = re.findall(r"\((drop schema .*?)\)", str(refused.value))
    assert migrate(empty_url, "another").changed
    empty.execute(advice)
    assert migrate(empty_url, "My Jobs").changed


@pytest.mark.parametrize(
    "command",
    [
        commands.OpenLease("worker"),
        commands.GetJob(uuid4()),
        commands.QueueStats(),
        commands.EnqueueJobs([NewJob(kind="a")]),
    ],
    ids=["open_lease", "get_job", "queue_stats", "enqueue_jobs"],
)
def test_a_command_on_an_empty_database_says_to_migrate(empty_url: str, command: Any) -> None:
    engine = PostgresEngine(lambda: empty_url)
    with pytest.raises(NotMigrated, match="penstock migrate"):
        engine.run(command)
    engine.close()


def test_functions_are_replaced_when_they_are_not_this_version_s(
    empty_url: str, empty: psycopg.Connection[Any]
) -> None:
    migrate(empty_url)
    body = "select prosrc from pg_proc where oid = 'penstock.next_run_at'::regproc"
    ours = empty.execute(body).fetchone()
    empty.execute("""
        create or replace function penstock.next_run_at() returns timestamptz language sql as 'select now()';
        update penstock.schema_migrations set functions = 'of another version'
    """)
    assert migrate(empty_url) == Migrated(applied=(), functions_replaced=True)
    assert empty.execute(body).fetchone() == ours
    assert not migrate(empty_url).changed


@pytest.fixture
def encoded(server: str) -> Iterator[Callable[[str], str]]:
    """Addresses of empty databases of other encodings than UTF8."""
    made: list[str] = []

    def make(encoding: str) -> str:
        name = f"{encoding}_{uuid4().hex}"
        made.append(name)
        of = f"encoding '{encoding}' lc_collate 'C' lc_ctype 'C'"
        admin.execute(f'create database "{name}" template template0 {of}'.encode())
        return address_of(server, name)

    with psycopg.connect(server, autocommit=True) as admin:
        yield make
        for name in made:
            admin.execute(f'drop database "{name}" with (force)'.encode())


def test_a_database_that_knows_no_characters_is_refused_in_one_line(encoded: Callable[[str], str]) -> None:
    with pytest.raises(PenstockError) as refused:
        migrate(encoded("SQL_ASCII"))
    assert "has the encoding SQL_ASCII" in str(refused.value)
    assert "template template0 encoding 'UTF8'" in str(refused.value)


def test_what_is_sent_is_utf8_whatever_the_database_has(
    encoded: Callable[[str], str], monkeypatch: pytest.MonkeyPatch
) -> None:
    url = encoded("LATIN1")
    monkeypatch.setenv("PGCLIENTENCODING", "SQL_ASCII")
    migrate(url)
    engine = PostgresEngine(lambda: url)
    [enqueued] = engine.enqueue([NewJob(kind="greet", args='{"name": "Zoë"}'.encode())])
    job = engine.run(commands.GetJob(enqueued.id))
    assert job is not None
    assert job.args == {"name": "Zoë"}
    engine.close()


def test_a_postgres_that_is_too_old_is_refused() -> None:
    """None so old is at hand: a stand-in tells its version and can do nothing else."""
    old = cast("psycopg.Connection[Any]", SimpleNamespace(info=SimpleNamespace(server_version=140_019)))
    with pytest.raises(PenstockError, match="PostgreSQL 14 is too old: Penstock needs 15 or newer"):
        migrate_on(old)
