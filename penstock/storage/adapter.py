"""The two ways to run commands behind one: what is written on it serves async and sync callers alike."""

from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import Protocol, TypeVar

from penstock.engine.commands.command import Command
from penstock.engine.protocol import Engine, Transaction

T = TypeVar("T")


class Runs(Protocol):
    async def run(self, command: Command[T], /) -> T: ...


class Face(Runs, Protocol):
    def transaction(self) -> AbstractAsyncContextManager[Runs]:
        """Several commands as one transaction, with other things done in between."""
        ...


class Waiting:
    """On an event loop."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    async def run(self, command: Command[T], /) -> T:
        return await self._engine.arun(command)

    @asynccontextmanager
    async def transaction(self) -> AsyncIterator[Runs]:
        async with self._engine.atransaction() as transaction:
            yield transaction
            await transaction.commit()


class Blocking:
    """Its coroutines never wait: for run_now."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    async def run(self, command: Command[T], /) -> T:
        return self._engine.run(command)

    @asynccontextmanager
    async def transaction(self) -> AsyncIterator[Runs]:
        with self._engine.transaction() as transaction:
            yield _Blocking(transaction)
            transaction.commit()


class _Blocking:
    def __init__(self, transaction: Transaction) -> None:
        self._transaction = transaction

    async def run(self, command: Command[T], /) -> T:
        return self._transaction.run(command)
