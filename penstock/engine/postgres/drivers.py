"""Running statements and scripts on a connection: one runner for each way a driver is spoken to.

Connections are our own or the caller's, so that a job commits or rolls back with their data. Taken are psycopg's,
SQLAlchemy's sessions and connections, Django's, psycopg2's and asyncpg's. Neither SQLAlchemy nor Django is imported:
whoever passes one has imported it.
"""

import re
from collections.abc import Awaitable, Callable, Iterator
from contextlib import AbstractAsyncContextManager, AbstractContextManager, contextmanager, nullcontext
from typing import Any, Protocol, TypeVar

import psycopg
from psycopg.rows import tuple_row

from penstock.engine.commands.command import Command, misfit
from penstock.engine.postgres.connections import expect_much, pipeline
from penstock.engine.postgres.errors import sqlstate, translate
from penstock.engine.postgres.render import render
from penstock.engine.postgres.statement import Copy, Script, Statement
from penstock.engine.script import arun, run
from penstock.errors import RolesMissing, UnsupportedConnection
from penstock.sql import render as in_schema

T = TypeVar("T")


class Runner(Protocol):
    """Runs statements on a sync connection."""

    can_copy: bool

    def run(self, statement: Statement[T]) -> T: ...
    def copy(self, copy: Copy, /) -> None: ...


class AsyncRunner(Protocol):
    """Runs statements on an async connection."""

    can_copy: bool

    async def run(self, statement: Statement[T]) -> T: ...
    async def copy(self, copy: Copy, /) -> None: ...


class Psycopg:
    can_copy = True

    def __init__(self, connection: psycopg.Connection[Any], schema: str) -> None:
        self._connection = connection
        self._schema = schema

    def all_or_none(self) -> AbstractContextManager[object]:
        """Several statements as one, also where each would be committed by itself."""
        return self._connection.transaction() if self._connection.autocommit else nullcontext()

    def run(self, statement: Statement[T]) -> T:
        if statement.binary:
            expect_much(self._connection)
        # not connection.cursor(): the caller's factory may read %s otherwise
        with psycopg.Cursor(self._connection, row_factory=tuple_row) as cursor:
            cursor.execute(in_schema(statement.text, self._schema).encode(), statement.params, binary=statement.binary)
            return statement.read(cursor.fetchall())

    def copy(self, copy: Copy, /) -> None:
        with (
            self._connection.cursor() as cursor,
            cursor.copy(in_schema(copy.text, self._schema).encode()) as stream,
        ):
            for chunk in copy.chunks:
                stream.write(chunk)


class AsyncPsycopg:
    can_copy = True

    def __init__(self, connection: psycopg.AsyncConnection[Any], schema: str) -> None:
        self._connection = connection
        self._schema = schema

    def all_or_none(self) -> AbstractAsyncContextManager[object]:
        return self._connection.transaction() if self._connection.autocommit else nullcontext()

    async def run(self, statement: Statement[T]) -> T:
        if statement.binary:
            expect_much(self._connection)
        # not connection.cursor(): the caller's factory may read %s otherwise
        async with psycopg.AsyncCursor(self._connection, row_factory=tuple_row) as cursor:
            await cursor.execute(
                in_schema(statement.text, self._schema).encode(), statement.params, binary=statement.binary
            )
            return statement.read(await cursor.fetchall())

    async def copy(self, copy: Copy, /) -> None:
        async with (
            self._connection.cursor() as cursor,
            cursor.copy(in_schema(copy.text, self._schema).encode()) as stream,
        ):
            for chunk in copy.chunks:
                await stream.write(chunk)


class AsyncActingAs:
    """Runs each statement as a transaction under a role and with claims, for the database's policies to decide upon.

    Both statements go in one message: what stands in a pipeline is one transaction, at whose end role and claims are
    gone. Parameters are sent beside the text, for a statement that fails is written to the server's log.
    """

    can_copy = False

    def __init__(self, connection: psycopg.AsyncConnection[Any], schema: str, role: str, claims: str) -> None:
        self._connection = connection
        self._schema = schema
        self._identity = [role, claims]

    async def run(self, statement: Statement[T]) -> T:
        with explaining_roles():
            async with pipeline(self._connection):
                await psycopg.AsyncCursor(self._connection).execute(ACT_AS, self._identity)
                cursor = psycopg.AsyncCursor(self._connection, row_factory=tuple_row)
                await cursor.execute(in_schema(statement.text, self._schema).encode(), statement.params)
                rows = await cursor.fetchall()
        return statement.read(rows)

    async def copy(self, _: Copy, /) -> None:
        raise TypeError("a user cannot COPY")


_WITHOUT_ROLES = """{}: requests of users run under the roles anon, authenticated and service_role.
As an administrator of the database `create role … nologin noinherit` those it does not have,
`grant anon, authenticated, service_role to` the login of this application, and run `penstock migrate`."""
ACT_AS = "select pg_catalog.set_config('role', %s, true), pg_catalog.set_config('request.jwt.claims', %s, true)"


@contextmanager
def explaining_roles() -> Iterator[None]:
    """Says what to do where the roles of requests are missing, or may not be acted as."""
    try:
        yield
    except (psycopg.errors.InvalidParameterValue, psycopg.errors.InsufficientPrivilege) as error:
        # by where it was raised, because its words may be in any language
        if error.diag.source_function == "call_string_check_hook":
            raise RolesMissing(_WITHOUT_ROLES.format(error.diag.message_primary)) from error
        raise


class DBAPI:
    """Any DB-API connection with %s parameters: psycopg2, Django's connection over either psycopg."""

    can_copy = False

    def __init__(self, connection: Any, schema: str) -> None:
        self._connection = connection
        self._schema = schema

    def run(self, statement: Statement[T]) -> T:
        cursor = self._connection.cursor()
        try:
            cursor.execute(in_schema(statement.text, self._schema), statement.params)
            # psycopg2's RealDictCursor gives dicts
            rows = [tuple(row.values() if isinstance(row, dict) else row) for row in cursor.fetchall()]
            return statement.read(rows)
        finally:
            cursor.close()

    def copy(self, _: Copy, /) -> None:
        raise TypeError("this driver cannot COPY")


class SQLAlchemy:
    """A SQLAlchemy connection over a driver with %s parameters."""

    can_copy = False

    def __init__(self, connection: Any, schema: str) -> None:
        self._connection = connection
        self._schema = schema

    def run(self, statement: Statement[T]) -> T:
        rows = self._connection.exec_driver_sql(in_schema(statement.text, self._schema), tuple(statement.params))
        return statement.read([tuple(row) for row in rows])

    def copy(self, _: Copy, /) -> None:
        raise TypeError("this driver cannot COPY")


class Dollar:
    """An async connection whose parameters are $1, $2…: asyncpg, by itself or under SQLAlchemy."""

    can_copy = False

    def __init__(self, fetch: Callable[..., Awaitable[Any]], schema: str) -> None:
        self._fetch = fetch
        self._schema = schema

    async def run(self, statement: Statement[T]) -> T:
        numbers = iter(range(1, len(statement.params) + 1))
        text = re.sub("%s", lambda _: f"${next(numbers)}", in_schema(statement.text, self._schema))
        return statement.read([tuple(row) for row in await self._fetch(text, tuple(statement.params))])

    async def copy(self, _: Copy, /) -> None:
        raise TypeError("this driver cannot COPY")


def run_one(runner: Runner, asked: Command[T] | Statement[T], schema: str) -> T:
    try:
        return runner.run(_statement(asked))
    except Exception as error:
        _raise_ours(error, schema, asked)
        raise


async def arun_one(runner: AsyncRunner, asked: Command[T] | Statement[T], schema: str) -> T:
    try:
        return await runner.run(_statement(asked))
    except Exception as error:
        _raise_ours(error, schema, asked)
        raise


def run_script(runner: Runner, script: Script[T], schema: str) -> T:
    """Drives a script to its end on a sync connection."""

    def ask(step: Command[Any] | Statement[Any] | Copy) -> Any:
        return runner.copy(step) if isinstance(step, Copy) else runner.run(_statement(step))

    try:
        return run(ask, script)
    except Exception as error:
        _raise_ours(error, schema)
        raise


async def arun_script(runner: AsyncRunner, script: Script[T], schema: str) -> T:
    """Drives a script to its end on an async connection."""

    def ask(step: Command[Any] | Statement[Any] | Copy) -> Awaitable[Any]:
        return runner.copy(step) if isinstance(step, Copy) else runner.run(_statement(step))

    try:
        return await arun(ask, script)
    except Exception as error:
        _raise_ours(error, schema)
        raise


def _statement(asked: Command[T] | Statement[T]) -> Statement[T]:
    return asked if isinstance(asked, Statement) else render(asked)


def _raise_ours(error: Exception, schema: str, asked: object = None) -> None:
    """Where it is one that has a name here."""
    ours = translate(error, schema)
    unstorable = isinstance(error, psycopg.DataError | UnicodeEncodeError)
    if isinstance(asked, Command) and (unstorable or (sqlstate(error) or "").startswith(("22", "42"))):
        # of a number where a text should be it says that there is no such function
        ours = misfit(asked) or ours
    if ours is not None:
        raise ours from error


def _names(connection: object) -> set[str]:
    """`module.Class` of everything the object is, with the package alone in place of the module."""
    return {f"{cls.__module__.partition('.')[0]}.{cls.__name__}" for cls in type(connection).__mro__}


# by hand: other drivers are sync than async
def runner_for(connection: Any, schema: str) -> Runner:
    """A runner on a caller's sync connection."""
    if isinstance(connection, psycopg.Connection):
        return Psycopg(connection, schema)
    names = _names(connection)
    if names & {"sqlalchemy.Session", "sqlalchemy.scoped_session"}:
        return runner_for(connection.connection(), schema)
    if "sqlalchemy.Connection" in names:
        raw = connection.connection.driver_connection
        if not isinstance(raw, psycopg.Connection):
            return SQLAlchemy(connection, schema)
        # SQLAlchemy must know of the transaction that we begin behind its back: its commit() would do nothing
        if not connection.in_transaction():
            connection.begin()
        return Psycopg(raw, schema)
    if names & {"django.ConnectionProxy", "django.BaseDatabaseWrapper"}:
        if connection.vendor != "postgresql":
            raise UnsupportedConnection(f"the Django connection is to {connection.vendor}, not to PostgreSQL")
        return DBAPI(connection, schema)
    if names & {"psycopg2.connection"}:
        return DBAPI(connection, schema)
    if isinstance(connection, psycopg.AsyncConnection) or names & _ASYNC:
        raise UnsupportedConnection("this is an async connection: await aenqueue(…) instead of enqueue(…)")
    raise _unsupported(connection)


_ASYNC = {
    "sqlalchemy.AsyncSession",
    "sqlalchemy.async_scoped_session",
    "sqlalchemy.AsyncConnection",
    "asyncpg.Connection",
    "asyncpg.PoolConnectionProxy",
}
_SYNC = {"sqlalchemy.Session", "sqlalchemy.scoped_session", "sqlalchemy.Connection", "django.ConnectionProxy",
         "django.BaseDatabaseWrapper", "psycopg2.connection"}  # fmt: skip


async def async_runner_for(connection: Any, schema: str) -> AsyncRunner:
    """A runner on a caller's async connection."""
    if isinstance(connection, psycopg.AsyncConnection):
        return AsyncPsycopg(connection, schema)
    names = _names(connection)
    if names & {"sqlalchemy.AsyncSession", "sqlalchemy.async_scoped_session"}:
        return await async_runner_for(await connection.connection(), schema)
    if "sqlalchemy.AsyncConnection" in names:
        raw = (await connection.get_raw_connection()).driver_connection
        if isinstance(raw, psycopg.AsyncConnection):
            if not connection.in_transaction():
                await connection.begin()
            return AsyncPsycopg(raw, schema)
        # through SQLAlchemy, because it begins asyncpg's transaction only with its own first statement
        return Dollar(connection.exec_driver_sql, schema)
    if names & {"asyncpg.Connection", "asyncpg.PoolConnectionProxy"}:
        return Dollar(lambda text, params: connection.fetch(text, *params), schema)
    if isinstance(connection, psycopg.Connection) or names & _SYNC:
        raise UnsupportedConnection("this is a sync connection: call enqueue(…) instead of aenqueue(…)")
    raise _unsupported(connection)


def _unsupported(connection: object) -> UnsupportedConnection:
    name = re.sub(r"^builtins\.", "", f"{type(connection).__module__}.{type(connection).__qualname__}")
    return UnsupportedConnection(
        f"cannot enqueue through a {name}; pass a psycopg connection, a SQLAlchemy session or connection, "
        "Django's connection, or a connection of psycopg2 or asyncpg"
    )
