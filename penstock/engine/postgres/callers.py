"""Enqueueing on the caller's own connection, so that the job commits or rolls back with the caller's data.

Taken are psycopg connections, SQLAlchemy sessions and connections, Django's connections, psycopg2's and asyncpg's.
Neither SQLAlchemy nor Django is imported: whoever passes one has imported it.
"""

import re
from typing import Any

import psycopg

from penstock.engine.postgres.drivers import DBAPI, AsyncPsycopg, AsyncRunner, Dollar, Psycopg, Runner, SQLAlchemy
from penstock.errors import UnsupportedConnection


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
