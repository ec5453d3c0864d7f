"""The engine on Postgres: runs commands on pooled connections, and repeats what is safe to repeat after a fault."""

import asyncio
import random
import time
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager, nullcontext
from dataclasses import dataclass, field
from typing import Any, TypeVar, cast
from uuid import UUID

import psycopg

from penstock.engine.commands import CompleteAndEnqueue, ExistingIds
from penstock.engine.commands.command import Command
from penstock.engine.faults import Outage
from penstock.engine.postgres.drivers import (
    ACT_AS,
    AsyncActingAs,
    AsyncPsycopg,
    AsyncRunner,
    Psycopg,
    Runner,
    arun_one,
    arun_script,
    async_runner_for,
    explaining_roles,
    run_one,
    run_script,
    runner_for,
)
from penstock.engine.postgres.enqueue import COPY_FROM, enqueue, plain_one
from penstock.engine.postgres.errors import FAULTS, PostgresUnavailable, sqlstate
from penstock.engine.postgres.listener import PostgresListener
from penstock.engine.postgres.mover import PostgresMover
from penstock.engine.postgres.pools import Pools
from penstock.engine.postgres.statement import Statement
from penstock.engine.postgres.transaction import AsyncPostgresTransaction, PostgresTransaction
from penstock.engine.postgres.wait import await_until_final, wait_until_final
from penstock.engine.protocol import Capabilities, Ears
from penstock.errors import DatabaseUnavailable, DuplicateKey
from penstock.job import AllCreated, Bulk, Enqueued, Job, NewJob, Work, ids_of
from penstock.keeper import Keeper

T = TypeVar("T")
Asked = Command[T] | Statement[T]

_TRIES = 5
_ROLLED_BACK = ("40001", "40P01")  # serialization failure, deadlock: Postgres undid everything
_LOST = (psycopg.OperationalError, psycopg.InterfaceError)


class PostgresEngine:
    """`run` and `arun` run any command of `penstock.engine.commands`, or a statement.

    `answer_timeout`: seconds after which an async command without an answer is given up and its connection is ended.
    `timeout`: seconds after which DatabaseUnavailable is raised when the database cannot be reached, or answers nobody;
    without one, for workers, it is tried for longer. `outage`: shared by engines of the same database, for their log.
    """

    capabilities = Capabilities(
        transactions=True, leads=True, database=True, users=True, artifacts=True, durable_waits=True, search=True,
        statistics=True, quotas=True, key_limits=True, queue_settings=True, catch_up=True, idempotency_keys=True,
        claim_by_kind=True, after_existing=True,
    )  # fmt: skip
    faults = FAULTS
    keeper: Keeper | None = None

    def __init__(
        self,
        url: Callable[[], str],
        *,
        schema: str = "penstock",
        pool_size: int = 10,
        answer_timeout: float | None = None,
        timeout: float | None = None,
        outage: Outage | None = None,
    ) -> None:
        self.schema = schema
        self.outage = outage or Outage()
        self.pools = Pools(url, schema, pool_size, answer_timeout, timeout, outage=self.outage)

    # One command, by itself.

    def run(self, asked: Asked[T], /) -> T:
        if isinstance(asked, CompleteAndEnqueue):
            with self.transaction() as transaction:
                return cast(T, transaction.complete(asked))
        tries = _Tries(asked)
        while True:
            try:
                with self.pools.sync().connection() as connection:
                    return run_one(Psycopg(connection, self.schema), asked, self.schema)
            except psycopg.Error as error:
                time.sleep(tries.pause(error))

    async def arun(self, asked: Asked[T], /) -> T:
        if isinstance(asked, CompleteAndEnqueue):
            async with self.atransaction() as transaction:
                return cast(T, await transaction.complete(asked))
        tries = _Tries(asked)
        while True:
            try:
                async with (await self.pools.of_this_loop()).connection() as connection:
                    return await arun_one(AsyncPsycopg(connection, self.schema), asked, self.schema)
            except psycopg.Error as error:
                await asyncio.sleep(tries.pause(error))

    def run_on(self, connection: object, asked: Asked[T]) -> T:
        """On the caller's connection, as part of its transaction."""
        return run_one(runner_for(connection, self.schema), asked, self.schema)

    async def arun_on(self, connection: object, asked: Asked[T]) -> T:
        return await arun_one(await async_runner_for(connection, self.schema), asked, self.schema)

    async def arun_as(self, role: str, claims: str, asked: Asked[T]) -> T:
        """Runs a command on a user's behalf: under their role, with their token's claims (JSON), in one transaction.

        One message to the server: several statements in one are one transaction, at whose end role and claims are gone.
        """
        tries = _Tries(asked)
        while True:
            try:
                async with (await self.pools.of_this_loop()).connection() as connection:
                    runner = AsyncActingAs(connection, self.schema, role, claims)
                    return await arun_one(runner, asked, self.schema)
            except psycopg.Error as error:
                await asyncio.sleep(tries.pause(error))

    @asynccontextmanager
    async def acting_as(self, role: str, claims: str) -> AsyncIterator[psycopg.AsyncConnection[Any]]:
        """A connection in a transaction under a user's role and claims, for tables of an application's own."""
        async with (await self.pools.of_this_loop()).connection() as connection, connection.transaction():
            with explaining_roles():
                await connection.execute(ACT_AS, [role, claims])
            yield connection

    # Enqueueing, on our connection or the caller's.

    def enqueue(self, work: Work, connection: object = None) -> Sequence[Enqueued]:
        if connection is not None:
            return self._enqueue_on(runner_for(connection, self.schema), work)
        tries = _Tries()
        while True:
            try:
                with self.pools.sync().connection() as own:
                    return self._enqueue_on(Psycopg(own, self.schema), work, alone=True)
            except (psycopg.Error, DuplicateKey) as error:
                time.sleep(tries.pause(error))
            try:
                landed = set(self.run(ExistingIds(ids_of(work))))
            except DatabaseUnavailable as error:
                raise tries.given_up(error) from None
            if landed:
                rest = _without(work, landed)
                return _in_order(work, landed, self.enqueue(rest) if rest else ())

    def _enqueue_on(self, runner: Runner, work: Work, *, alone: bool = False) -> Sequence[Enqueued]:
        if (one := plain_one(work, hand=alone)) is not None:
            run_one(runner, one, self.schema)
            return AllCreated(ids_of(work))
        with runner.all_or_none() if isinstance(runner, Psycopg) and _is_many(work) else nullcontext():
            return run_script(runner, enqueue(work, copy=runner.can_copy), self.schema)

    async def aenqueue(self, work: Work, connection: object = None) -> Sequence[Enqueued]:
        if connection is not None:
            return await self._aenqueue_on(await async_runner_for(connection, self.schema), work)
        tries = _Tries()
        while True:
            try:
                async with (await self.pools.of_this_loop()).connection() as own:
                    return await self._aenqueue_on(AsyncPsycopg(own, self.schema), work, alone=True)
            except (psycopg.Error, DuplicateKey) as error:
                await asyncio.sleep(tries.pause(error))
            try:
                landed = set(await self.arun(ExistingIds(ids_of(work))))
            except DatabaseUnavailable as error:
                raise tries.given_up(error) from None
            if landed:
                rest = _without(work, landed)
                return _in_order(work, landed, await self.aenqueue(rest) if rest else ())

    async def _aenqueue_on(self, runner: AsyncRunner, work: Work, *, alone: bool = False) -> Sequence[Enqueued]:
        if (one := plain_one(work, hand=alone)) is not None:
            await arun_one(runner, one, self.schema)
            return AllCreated(ids_of(work))
        async with runner.all_or_none() if isinstance(runner, AsyncPsycopg) and _is_many(work) else nullcontext():
            return await arun_script(runner, enqueue(work, copy=runner.can_copy), self.schema)

    def wait(self, id: UUID, timeout: float | None) -> Job | None:
        return wait_until_final(self, id, timeout)

    async def await_end(self, id: UUID, timeout: float | None) -> Job | None:  # noqa: ASYNC109 - the twin
        return await await_until_final(self, id, timeout)

    # What workers need.

    @contextmanager
    def transaction(self) -> Iterator[PostgresTransaction]:
        with self.pools.sync().connection() as connection:
            connection.execute("begin")
            yield PostgresTransaction(connection, self.schema)

    @asynccontextmanager
    async def atransaction(self) -> AsyncIterator[AsyncPostgresTransaction]:
        async with (await self.pools.of_this_loop()).connection() as connection:
            await connection.execute("begin")
            yield AsyncPostgresTransaction(connection, self.schema)

    @property
    def place(self) -> "PostgresPlace":
        return PostgresPlace(self.pools.url(), self.schema)

    def of_worker(self, answer_timeout: float | None) -> "PostgresEngine":
        return PostgresEngine(
            self.pools.url, schema=self.schema, pool_size=8, answer_timeout=answer_timeout, outage=self.outage
        )

    def listener(self, ears: Ears) -> PostgresListener:
        return PostgresListener(self, ears)

    def mover(self) -> PostgresMover:
        return PostgresMover(self)

    async def leave_loop(self) -> None:
        self.pools.leave_loop()

    def close(self) -> None:
        self.pools.close()

    async def aclose(self) -> None:
        await self.pools.aclose()


@dataclass(frozen=True, slots=True)
class PostgresPlace:
    url: str = field(repr=False)
    schema: str

    def engine(self) -> PostgresEngine:
        return PostgresEngine(lambda: self.url, schema=self.schema, pool_size=2)


class _Tries:
    """Of one command, or of an enqueue: whether to try again after a fault, and when."""

    def __init__(self, asked: Asked[Any] | None = None) -> None:
        self._asked = asked
        self._count = 0
        self._sent = False
        """An earlier attempt may have done what it was asked to."""

    def pause(self, error: Exception) -> float:
        """Seconds until the next attempt; raises the error when there is to be none."""
        self._count += 1
        if isinstance(error, DatabaseUnavailable):
            raise self.given_up(error) from error.__cause__
        if self._count == _TRIES or not self._may_repeat(error):
            raise error
        self._sent = self._sent or isinstance(error, _LOST)
        if sqlstate(error) not in _ROLLED_BACK:
            return 0.0
        # Whoever else was in a deadlock must get on meanwhile: at once, its victim came back for the same lock before
        # the winner had run, and lost again.
        return random.uniform(0.5, 1) * 0.01 * float(3**self._count)  # noqa: S311 (a pause, not a secret)

    def given_up(self, error: DatabaseUnavailable) -> DatabaseUnavailable:
        return PostgresUnavailable(error.seconds, error.reason, sent=error.sent or self._sent)

    def _may_repeat(self, error: Exception) -> bool:
        if isinstance(error, DuplicateKey):
            # the attempt whose connection was lost was still under way, and has committed meanwhile
            return self._count > 1 and error.field == "id"
        if sqlstate(error) in _ROLLED_BACK:
            return True
        return isinstance(error, _LOST) and (self._asked is None or self._asked.repeatable)


def _is_many(work: Work) -> bool:
    """Takes more than one statement, hence a transaction."""
    return len(ids_of(work)) >= COPY_FROM


def _without(work: Work, landed: set[UUID]) -> list[NewJob]:
    """After a lost connection: ids are ours, so those that exist tell that the commit went through. What is not among
    them stands for another job by its unique or idempotency key and may be asked for again."""
    return [job for job in (work.jobs() if isinstance(work, Bulk) else work) if job.id not in landed]


def _in_order(work: Work, landed: set[UUID], others: Sequence[Enqueued]) -> list[Enqueued]:
    """What landed and what the others stand for, in the order they were given."""
    rest = iter(others)
    ids = [UUID(bytes=id) for id in ids_of(work)]
    return [Enqueued(id, True) if id in landed else next(rest) for id in ids]
