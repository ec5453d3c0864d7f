"""The same in async code."""

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass
from typing import Any

import asyncpg
import psycopg
import pytest
import sqlalchemy as sa
from sqlalchemy.ext.asyncio import AsyncSession, create_async_engine

from penstock import Handler, Penstock
from penstock.engine.postgres.drivers import async_runner_for
from tests.app.addresses import as_uri
from tests.kit.fixtures import Connect

pytestmark = pytest.mark.needs_session(
    "a caller's driver that prepares statements is the caller's to set up for a pooler"
)

Send = Handler[..., None]
Seen = Callable[[], tuple[int, int]]


@dataclass
class Caller:
    connection: Any
    execute: Callable[[str], Awaitable[object]]
    commit: Callable[[], Awaitable[None]]
    rollback: Callable[[], Awaitable[None]]


@asynccontextmanager
async def by_psycopg(url: str) -> AsyncIterator[Caller]:
    async with await psycopg.AsyncConnection.connect(url) as connection:
        yield Caller(connection, lambda text: connection.execute(text.encode()), connection.commit, connection.rollback)


class AsyncpgTransactions:
    """asyncpg begins a transaction only when told to: keeps one open, as the others do."""

    def __init__(self, connection: Any) -> None:
        self.connection = connection

    async def begin(self) -> None:
        self._open = self.connection.transaction()
        await self._open.start()

    async def commit(self) -> None:
        await self._open.commit()
        await self.begin()

    async def rollback(self) -> None:
        await self._open.rollback()
        await self.begin()


@asynccontextmanager
async def by_asyncpg(url: str) -> AsyncIterator[Caller]:
    connection = await asyncpg.connect(as_uri(url))
    own = AsyncpgTransactions(connection)
    await own.begin()
    yield Caller(connection, connection.execute, own.commit, own.rollback)
    await connection.close()


@asynccontextmanager
async def by_asyncpg_pool(url: str) -> AsyncIterator[Caller]:
    async with asyncpg.create_pool(as_uri(url), min_size=1, max_size=1) as pool, pool.acquire() as connection:
        own = AsyncpgTransactions(connection)
        await own.begin()
        yield Caller(connection, connection.execute, own.commit, own.rollback)


@asynccontextmanager
async def by_sqlalchemy(url: str, driver: str, kind: str) -> AsyncIterator[Caller]:
    engine = create_async_engine(as_uri(url, driver), poolclass=sa.NullPool)
    made: Any = AsyncSession(engine) if kind == "session" else engine.connect()
    async with made:
        yield Caller(made, lambda text: made.execute(sa.text(text)), made.commit, made.rollback)
    await engine.dispose()


CALLERS: dict[str, Callable[[str], AbstractAsyncContextManager[Caller]]] = {
    "psycopg": by_psycopg,
    "asyncpg": by_asyncpg,
    "asyncpg from its pool": by_asyncpg_pool,
    "SQLAlchemy connection on psycopg": lambda url: by_sqlalchemy(url, "psycopg", "connection"),
    "SQLAlchemy connection on asyncpg": lambda url: by_sqlalchemy(url, "asyncpg", "connection"),
    "SQLAlchemy session on psycopg": lambda url: by_sqlalchemy(url, "psycopg", "session"),
    "SQLAlchemy session on asyncpg": lambda url: by_sqlalchemy(url, "asyncpg", "session"),
}
every_caller = pytest.mark.parametrize("caller", CALLERS)


@pytest.fixture
def send(app: Penstock) -> Send:
    @app.job
    async def send(to: str) -> None: ...

    return send


@pytest.fixture
def seen(connect: Connect) -> Seen:
    """How many of the caller's own rows, and how many jobs, somebody else sees."""
    connection = connect()
    connection.execute("drop table if exists own; create table own (id int)")
    query = "select (select count(*) from own), (select count(*) from penstock.jobs)"
    return lambda: connection.execute(query.encode()).fetchall()[0]


@every_caller
async def test_jobs_commit_with_the_callers_own_data(url: str, send: Send, seen: Seen, caller: str) -> None:
    async with CALLERS[caller](url) as own:
        await own.execute("insert into own values (1)")
        one = await send.using(connection=own.connection).aenqueue("ada")
        some = await send.using(connection=own.connection, unique=True).aenqueue_many([{"to": "a"}, {"to": "b"}])
        many = await send.using(connection=own.connection).aenqueue_many([{"to": str(n)} for n in range(25)])
        assert seen() == (0, 0)
        await own.commit()
    assert seen() == (1, 28)
    assert [(await job.arefresh()).args["to"] for job in (one, *some, many[-1])] == ["ada", "a", "b", "24"]


@every_caller
async def test_jobs_roll_back_with_the_callers_own_data(url: str, send: Send, seen: Seen, caller: str) -> None:
    async with CALLERS[caller](url) as own:
        await own.execute("insert into own values (1)")
        await send.using(connection=own.connection).aenqueue("ada")
        await send.using(connection=own.connection).aenqueue_many([{"to": "ada"}] * 25)
        await own.rollback()
        assert seen() == (0, 0)
        await send.using(connection=own.connection).aenqueue("ada")
        await own.commit()
    assert seen() == (0, 1)


@every_caller
@pytest.mark.parametrize("jobs", [1, 25])
async def test_enqueueing_may_be_the_first_thing_in_a_transaction(
    url: str, send: Send, seen: Seen, caller: str, jobs: int
) -> None:
    async with CALLERS[caller](url) as own:
        await send.using(connection=own.connection).aenqueue_many([{"to": "ada"}] * jobs)
        await own.execute("insert into own values (1)")
        await own.commit()
        assert seen() == (1, jobs)
        await send.using(connection=own.connection).aenqueue_many([{"to": "ada"}] * jobs)
        await own.rollback()
    assert seen() == (1, jobs)


@every_caller
async def test_what_is_under_psycopg_copies_and_the_others_do_without(url: str, caller: str) -> None:
    async with CALLERS[caller](url) as own:
        assert (await async_runner_for(own.connection, "penstock")).can_copy is ("asyncpg" not in caller)


@pytest.mark.parametrize("caller", ["psycopg", "asyncpg"])
async def test_a_large_bulk_goes_into_the_callers_transaction(url: str, send: Send, seen: Seen, caller: str) -> None:
    jobs = 10_000 if caller == "psycopg" else 2_000
    async with CALLERS[caller](url) as own:
        handles = await send.using(connection=own.connection).aenqueue_many([{"to": str(n)} for n in range(jobs)])
        assert (len(handles), seen()) == (jobs, (0, 0))
        await own.commit()
    assert seen() == (0, jobs)


async def test_a_connection_outside_a_transaction_enqueues_at_once(url: str, send: Send, seen: Seen) -> None:
    connection = await asyncpg.connect(as_uri(url))
    await send.using(connection=connection).aenqueue_many([{"to": "ada"}] * 30)
    assert seen() == (0, 30)
    await connection.close()
    async with await psycopg.AsyncConnection.connect(url, autocommit=True) as own:
        await send.using(connection=own).aenqueue_many([{"to": "ada"}] * 30)
        assert seen() == (0, 60)
