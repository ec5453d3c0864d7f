"""The engine on Postgres: runs calls on pooled connections, and repeats what is safe to repeat after a fault."""

import asyncio
import random
import time
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager, nullcontext
from typing import Any, TypeVar
from uuid import UUID

import psycopg

from penstock.engine import calls
from penstock.engine.call import Call
from penstock.engine.cursor import Cursor
from penstock.engine.outage import Outage
from penstock.engine.postgres.callers import async_runner_for, runner_for
from penstock.engine.postgres.drivers import (
    AsyncActingAs,
    AsyncPsycopg,
    AsyncRunner,
    Psycopg,
    Runner,
    arun_script,
    one,
    run_script,
)
from penstock.engine.postgres.enqueue import COPY_FROM, Bulk, Work, enqueue, ids_of
from penstock.engine.postgres.errors import sqlstate
from penstock.engine.postgres.pools import Pools
from penstock.errors import DatabaseUnavailable, DuplicateKey
from penstock.job import ClaimedJob, Enqueued, Lease, NewJob

T = TypeVar("T")

_TRIES = 5
_ROLLED_BACK = ("40001", "40P01")  # serialization failure, deadlock: Postgres undid everything
_LOST = (psycopg.OperationalError, psycopg.InterfaceError)


class PostgresEngine:
    """`run` and `arun` run any call of `penstock.engine.calls`. The async methods are what a worker lives on.

    `patience`: seconds after which an async call without an answer is given up and its connection is ended. `timeout`:
    seconds after which DatabaseUnavailable is raised when the database cannot be reached, or answers nobody; without
    one, for workers, a call is tried for longer. `outage`: shared by engines of the same database, for their log.
    """

    def __init__(
        self,
        url: Callable[[], str],
        *,
        schema: str = "penstock",
        pool_size: int = 10,
        patience: float | None = None,
        timeout: float | None = None,
        outage: Outage | None = None,
    ) -> None:
        self.schema = schema
        self.outage = outage or Outage()
        self.pools = Pools(url, pool_size, patience, timeout, outage=self.outage)

    # One call, by itself.

    def run(self, call: Call[T]) -> T:
        tries = _Tries(call)
        while True:
            try:
                with self.pools.sync().connection() as connection:
                    return run_script(Psycopg(connection, self.schema), one(call), self.schema)
            except psycopg.Error as error:
                time.sleep(tries.pause(error))

    async def arun(self, call: Call[T]) -> T:
        tries = _Tries(call)
        while True:
            try:
                async with (await self.pools.of_this_loop()).connection() as connection:
                    return await arun_script(AsyncPsycopg(connection, self.schema), one(call), self.schema)
            except psycopg.Error as error:
                await asyncio.sleep(tries.pause(error))

    async def arun_as(self, role: str, claims: str, call: Call[T]) -> T:
        """Runs a call on a user's behalf: under their role, with their token's claims (JSON), in one transaction.

        One message to the server: several statements in one are one transaction, at whose end role and claims are gone.
        """
        tries = _Tries(call)
        while True:
            try:
                async with (await self.pools.of_this_loop()).connection() as connection:
                    runner = AsyncActingAs(connection, self.schema, role, claims)
                    return await arun_script(runner, one(call), self.schema)
            except psycopg.Error as error:
                await asyncio.sleep(tries.pause(error))

    @asynccontextmanager
    async def acting_as(self, role: str, claims: str) -> AsyncIterator[psycopg.AsyncConnection[Any]]:
        """A connection in a transaction under a user's role and claims, for tables of an application's own."""
        async with (await self.pools.of_this_loop()).connection() as connection, connection.transaction():
            await connection.execute(
                "select set_config('role', %s, true), set_config('request.jwt.claims', %s, true)", [role, claims]
            )
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
                landed = self.run(calls.existing_ids(ids_of(work)))
            except DatabaseUnavailable as error:
                raise tries.given_up(error) from None
            if landed:
                rest = _without(work, landed)
                return _in_order(work, landed, self.enqueue(rest) if rest else ())

    def _enqueue_on(self, runner: Runner, work: Work, *, alone: bool = False) -> Sequence[Enqueued]:
        with runner.all_or_none() if isinstance(runner, Psycopg) and _is_many(work) else nullcontext():
            return run_script(runner, enqueue(work, copy=runner.can_copy, alone=alone), self.schema)

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
                landed = await self.arun(calls.existing_ids(ids_of(work)))
            except DatabaseUnavailable as error:
                raise tries.given_up(error) from None
            if landed:
                rest = _without(work, landed)
                return _in_order(work, landed, await self.aenqueue(rest) if rest else ())

    async def _aenqueue_on(self, runner: AsyncRunner, work: Work, *, alone: bool = False) -> Sequence[Enqueued]:
        async with runner.all_or_none() if isinstance(runner, AsyncPsycopg) and _is_many(work) else nullcontext():
            return await arun_script(runner, enqueue(work, copy=runner.can_copy, alone=alone), self.schema)

    # The hot path of a worker.

    async def open_lease(self, worker: str, **about: Any) -> Lease:
        return await self.arun(calls.open_lease(worker, **about))

    async def extend_lease(self, lease: Lease) -> calls.Extended:
        return await self.arun(calls.extend_lease(lease))

    async def close_lease(self, lease: Lease) -> int:
        return await self.arun(calls.close_lease(lease))

    async def claim(self, lease: Lease, queue: str, limit: int, cursor: Cursor | None = None) -> list[ClaimedJob]:
        return await self.arun(calls.claim(lease, queue, limit, cursor))

    async def complete(
        self, lease: Lease, jobs: Sequence[ClaimedJob], outputs: Sequence[bytes | None] = ()
    ) -> list[UUID]:
        return await self.arun(calls.complete(lease, jobs, outputs))

    async def fail(
        self, lease: Lease, jobs: Sequence[ClaimedJob], errors: Sequence[Mapping[str, Any]]
    ) -> Mapping[UUID, tuple[str, object]]:
        return await self.arun(calls.fail(lease, jobs, errors))

    def close(self) -> None:
        self.pools.close()

    async def aclose(self) -> None:
        await self.pools.aclose()


class _Tries:
    """Of one call, or of an enqueue: whether to try again after a fault, and when."""

    def __init__(self, call: Call[Any] | None = None) -> None:
        self._call = call
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
        return random.uniform(0.5, 1) * 0.01 * float(3**self._count)  # noqa: S311

    def given_up(self, error: DatabaseUnavailable) -> DatabaseUnavailable:
        return DatabaseUnavailable(error.seconds, error.reason, sent=error.sent or self._sent)

    def _may_repeat(self, error: Exception) -> bool:
        if isinstance(error, DuplicateKey):
            # the attempt whose connection was lost was still under way, and has committed meanwhile
            return self._count > 1 and error.field == "id"
        if sqlstate(error) in _ROLLED_BACK:
            return True
        return isinstance(error, _LOST) and (self._call is None or self._call.repeatable)


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
