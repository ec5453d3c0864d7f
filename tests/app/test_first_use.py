"""The database an application finds: not migrated, to be migrated, too new, not there, or its own."""

import os
from pathlib import Path

import psycopg
import pytest
import sqlalchemy as sa

from penstock import InvalidInput, NotMigrated, Penstock, SchemaTooNew, embedded
from tests.app.addresses import as_uri
from tests.app.worker import Worker

ADVICE = r"^schema 'penstock' is missing or older than this version of Penstock; run `penstock migrate` \("


def test_a_database_that_is_not_migrated_says_what_to_do(empty_url: str) -> None:
    with Penstock(empty_url) as app:

        @app.job
        def send(to: str) -> None: ...

        engine = sa.create_engine(as_uri(empty_url, "psycopg2"), poolclass=sa.NullPool)
        with psycopg.connect(empty_url) as own, engine.connect() as sqlalchemys:
            for act in (
                lambda: send.enqueue("ada"),
                lambda: send.enqueue_many([{"to": "ada"}] * 25),
                lambda: send.using(unique=True).enqueue("ada"),
                lambda: send.using(connection=own).enqueue("ada"),
                lambda: send.using(connection=sqlalchemys).enqueue("ada"),
                lambda: app.jobs.list(),
                lambda: app.queues.pause("default"),
            ):
                with pytest.raises(NotMigrated, match=ADVICE):
                    act()
        engine.dispose()


async def test_the_same_in_async_code(empty_url: str) -> None:
    async with Penstock(empty_url) as app:

        @app.job
        def send(to: str) -> None: ...

        with pytest.raises(NotMigrated, match=ADVICE):
            await send.aenqueue("ada")
        with pytest.raises(NotMigrated, match=ADVICE):
            await app.queues.alist()


def test_an_application_may_migrate_by_itself_into_a_schema_of_its_choice(empty_url: str) -> None:
    with Penstock(empty_url, migrate=True) as app, Penstock(empty_url, migrate=True, schema="Other jobs") as other:
        for each in (app, other):

            @each.job
            def send(to: str) -> str:
                return to

            handle = send.enqueue("ada")
            many = send.enqueue_many([{"to": "grace"}] * 25)
            Worker(each).run_all(output="sent")
            assert handle.result(timeout=10) == many[24].result(timeout=10) == "sent"
            assert len(each.jobs.list().jobs) == 26
            assert not each.migrate().changed


def test_a_schema_that_cannot_be_a_name_is_refused() -> None:
    with pytest.raises(InvalidInput, match=r"^schema: "):
        Penstock("postgresql://nowhere", schema='a"b')


def test_a_database_of_a_newer_penstock_is_left_alone(empty_url: str) -> None:
    with Penstock(empty_url, migrate=True) as app:
        app.jobs.list()
    with psycopg.connect(empty_url, autocommit=True) as connection:
        connection.execute("insert into penstock.schema_migrations (number, name) values (9999, 'from the future')")
    with Penstock(empty_url) as app, pytest.raises(SchemaTooNew, match=r"is at migration 9999, .*upgrade Penstock"):
        app.migrate()


def test_a_server_that_is_not_there_is_told_at_once_and_why(tmp_path: Path) -> None:
    with Penstock(f"host={tmp_path} dbname=x") as app:

        @app.job
        def send(to: str) -> None: ...

        for act in (lambda: send.enqueue("ada"), app.jobs.list, app.migrate):
            with pytest.raises(psycopg.OperationalError, match="No such file or directory"):
                act()


async def test_the_same_is_told_in_async_code(tmp_path: Path) -> None:
    async with Penstock(f"host={tmp_path} dbname=x") as app:
        with pytest.raises(psycopg.OperationalError, match="No such file or directory"):
            await app.jobs.alist()


@pytest.mark.root
def test_without_an_address_it_has_a_postgres_of_its_own_that_keeps_its_jobs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("DATABASE_URL", raising=False)
    folder = tmp_path / "own"
    ids = []
    for use in range(2):
        with Penstock(folder=folder) as app:

            @app.job
            def send(to: int) -> None: ...

            ids.append(send.enqueue(use).id)
            assert embedded.running_url(folder) == app.url()
            assert [job.id for job in app.jobs.list().jobs] == ids[::-1]
        assert embedded.running_url(folder) is None


def test_the_address_of_the_environment_is_used_when_none_is_given(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DATABASE_URL", url)
    with Penstock(folder="/nonexistent") as app:
        assert app.url() == os.environ["DATABASE_URL"]
        assert app.jobs.list().jobs == []
