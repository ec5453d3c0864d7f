"""app.connect_to: the same app on another database, and back."""

import asyncio
from collections.abc import Iterator
from pathlib import Path

import pytest

from penstock import Penstock, embedded
from penstock.engine.postgres.statement import Statement, first
from penstock.testing.database import throw_away

WHERE: Statement[str] = Statement("select current_database()::text", [], first)


@pytest.fixture
def other_url(server: str, template: str) -> Iterator[str]:
    with throw_away(server, template) as url:
        yield url


def test_what_was_written_here_is_not_there(app: Penstock, url: str, other_url: str) -> None:
    @app.job
    def note() -> None: ...

    here = note.enqueue()
    before = app.connect_to(other_url)
    assert before == url
    assert [job.id for job in app.jobs.each()] == []
    there = note.enqueue()
    app.connect_to(before)
    assert [job.id for job in app.jobs.each()] == [here.id]
    assert there.id != here.id


async def test_the_pool_of_the_running_loop_is_left_too(app: Penstock, url: str, other_url: str) -> None:
    first_place = await app.database.arun(WHERE)
    app.connect_to(other_url)
    second_place = await app.database.arun(WHERE)
    assert first_place != second_place
    assert url.count(first_place) == other_url.count(second_place) == 1
    await app.aclose()


async def test_a_connection_in_use_stays_and_is_closed_afterwards(app: Penstock, other_url: str) -> None:
    async with (await app.database.pools.of_this_loop()).connection() as connection:
        app.connect_to(other_url)
        await connection.execute("select 1")
    assert connection.closed
    await app.aclose()


def test_from_a_thread_with_a_loop_of_its_own(app: Penstock, other_url: str) -> None:
    async def look() -> tuple[str, str]:
        here = await app.database.arun(WHERE)
        await asyncio.to_thread(app.connect_to, other_url)
        return here, await app.database.arun(WHERE)

    here, there = asyncio.run(look())
    assert here != there


def test_an_app_that_migrates_does_so_wherever_it_goes(empty_url: str, server: str) -> None:
    with throw_away(server) as other, Penstock(empty_url, migrate=True) as app:
        for url in (other, empty_url):
            app.connect_to(url)
            assert list(app.jobs.each()) == []


def test_an_app_on_the_embedded_postgres_goes_back_to_it(
    url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("DATABASE_URL", raising=False)
    with Penstock(folder=tmp_path / "own") as app:

        @app.job
        def note() -> None: ...

        kept = note.enqueue()
        before = app.connect_to(url)
        assert before is None
        assert embedded.running_url(tmp_path / "own") is None
        assert app.url() == url
        assert [job.id for job in app.jobs.each()] == []
        app.connect_to(before)
        assert [job.id for job in app.jobs.each()] == [kept.id]
