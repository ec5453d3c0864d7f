"""The two ways to reach the database, with one face: what is written on it serves async and sync callers alike."""

from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import Protocol, TypeVar

from penstock.engine import PostgresEngine
from penstock.engine.call import Call
from penstock.engine.postgres.drivers import AsyncPsycopg, Psycopg, arun_script, one, run_script

T = TypeVar("T")


class Runs(Protocol):
    async def run(self, call: Call[T], /) -> T: ...


class Face(Runs, Protocol):
    def transaction(self) -> AbstractAsyncContextManager[Runs]:
        """Several calls as one transaction, with other things done in between."""
        ...


class Waiting:
    """On an event loop."""

    def __init__(self, engine: PostgresEngine) -> None:
        self._engine = engine

    async def run(self, call: Call[T], /) -> T:
        return await self._engine.arun(call)

    @asynccontextmanager
    async def transaction(self) -> AsyncIterator[Runs]:
        pool = await self._engine.pools.of_this_loop()
        async with pool.connection() as connection, connection.transaction():
            yield _Connected(AsyncPsycopg(connection, self._engine.schema), self._engine.schema)


class Blocking:
    """Its coroutines never wait: for run_now."""

    def __init__(self, engine: PostgresEngine) -> None:
        self._engine = engine

    async def run(self, call: Call[T], /) -> T:
        return self._engine.run(call)

    @asynccontextmanager
    async def transaction(self) -> AsyncIterator[Runs]:
        with self._engine.pools.sync().connection() as connection, connection.transaction():
            yield _ConnectedBlocking(Psycopg(connection, self._engine.schema), self._engine.schema)


class _Connected:
    def __init__(self, runner: AsyncPsycopg, schema: str) -> None:
        self._runner = runner
        self._schema = schema

    async def run(self, call: Call[T], /) -> T:
        return await arun_script(self._runner, one(call), self._schema)


class _ConnectedBlocking:
    def __init__(self, runner: Psycopg, schema: str) -> None:
        self._runner = runner
        self._schema = schema

    async def run(self, call: Call[T], /) -> T:
        return run_script(self._runner, one(call), self._schema)
