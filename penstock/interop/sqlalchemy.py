"""SQLAlchemy's sessions inside a handler: what they write is committed together with the job's completion.

    async with session_of(ctx) as session:  # in a sync handler: with session_of(ctx) as session
        session.add(Invoice(customer="ada"))

Needs SQLAlchemy 2 (with its asyncio extra for async handlers).
"""

from collections.abc import AsyncIterator, Iterator
from contextlib import AbstractAsyncContextManager, AbstractContextManager, asynccontextmanager, contextmanager
from contextvars import ContextVar
from functools import cache
from typing import Any, overload

import psycopg
from sqlalchemy import Engine, NullPool, create_engine
from sqlalchemy.ext.asyncio import AsyncEngine, AsyncSession, create_async_engine
from sqlalchemy.orm import Session

from penstock.context import Context, SyncContext

__all__ = ["session_of"]

_OWN: dict[str, Any] = {"join_transaction_mode": "create_savepoint"}
"""What the session commits or rolls back is a savepoint in the handler's transaction."""
_current: ContextVar[Any] = ContextVar("penstock connection for SQLAlchemy")


@overload
def session_of(ctx: Context, **options: Any) -> AbstractAsyncContextManager[AsyncSession]: ...
@overload
def session_of(ctx: SyncContext, **options: Any) -> AbstractContextManager[Session]: ...
def session_of(ctx: Context | SyncContext, **options: Any) -> Any:
    """A session on the connection of `ctx.transaction()`: flushed when the block ends, rolled back when it raises.

    `options` are those of Session. Nothing is committed before the job is; `session.rollback()` undoes what it has
    written since its last commit.
    """
    return _asession(ctx, options) if isinstance(ctx, Context) else _session(ctx, options)


@contextmanager
def _session(ctx: SyncContext, options: dict[str, Any]) -> Iterator[Session]:
    with ctx.transaction() as connection:
        token = _current.set(_Lent(connection))
        try:
            with (
                _engine().connect() as bound,
                bound.begin(),
                Session(bind=bound, **_OWN, **options) as session,
            ):
                yield session
                session.commit()
        finally:
            _current.reset(token)


@asynccontextmanager
async def _asession(ctx: Context, options: dict[str, Any]) -> AsyncIterator[AsyncSession]:
    async with ctx.transaction() as connection:
        token = _current.set(_AsyncLent(connection))
        try:
            async with (
                _aengine().connect() as bound,
                bound.begin(),
                AsyncSession(bind=bound, **_OWN, **options) as session,
            ):
                yield session
                await session.commit()
        finally:
            _current.reset(token)


# by hand: the async one is this one, with three methods to be awaited
class _Lent:
    """The handler's connection, whose transaction is not SQLAlchemy's to end."""

    def __init__(self, connection: psycopg.Connection[Any] | psycopg.AsyncConnection[Any]) -> None:
        self._lent = connection

    def __getattr__(self, name: str) -> Any:
        return getattr(self._lent, name)

    def commit(self) -> None: ...
    def rollback(self) -> None: ...
    def close(self) -> None: ...


class _AsyncLent(_Lent):
    async def commit(self) -> None: ...  # type: ignore[override]
    async def rollback(self) -> None: ...  # type: ignore[override]
    async def close(self) -> None: ...  # type: ignore[override]


# by hand: a connection is lent by a function, or by a coroutine
@cache
def _engine() -> Engine:
    """One for all handlers: it lends whatever connection is the current one, and asks about the server only once."""
    return create_engine("postgresql+psycopg://", creator=_current.get, poolclass=NullPool, use_native_hstore=False)


@cache
def _aengine() -> AsyncEngine:
    async def lend() -> Any:
        return _current.get()

    return create_async_engine("postgresql+psycopg://", async_creator=lend, poolclass=NullPool, use_native_hstore=False)
