"""Transactions that runs of jobs hold: committed with the job's completion, or not at all."""

from typing import TypeVar

from penstock.engine.commands import CompleteAndEnqueue
from penstock.engine.commands.command import Command
from penstock.engine.postgres.connections import AsyncConnection, SyncConnection, cut
from penstock.engine.postgres.drivers import AsyncPsycopg, Psycopg, arun_one, arun_script, run_one, run_script
from penstock.engine.postgres.enqueue import complete_and_enqueue

R = TypeVar("R")


class PostgresTransaction:
    def __init__(self, connection: SyncConnection, schema: str) -> None:
        self.connection = connection
        self._schema = schema

    def run(self, command: Command[R], /) -> R:
        return run_one(Psycopg(self.connection, self._schema), command, self._schema)

    def commit(self) -> None:
        self.connection.execute("commit")

    def complete(self, command: CompleteAndEnqueue, /) -> bool:
        runner = Psycopg(self.connection, self._schema)
        accepted = run_script(runner, complete_and_enqueue(command), self._schema)
        self.connection.execute("commit" if accepted else "rollback")
        return accepted

    def cut(self) -> None:
        cut(self.connection)


class AsyncPostgresTransaction:
    def __init__(self, connection: AsyncConnection, schema: str) -> None:
        self.connection = connection
        self._schema = schema

    async def run(self, command: Command[R], /) -> R:
        return await arun_one(AsyncPsycopg(self.connection, self._schema), command, self._schema)

    async def commit(self) -> None:
        await self.connection.execute("commit")

    async def complete(self, command: CompleteAndEnqueue, /) -> bool:
        runner = AsyncPsycopg(self.connection, self._schema)
        accepted = await arun_script(runner, complete_and_enqueue(command), self._schema)
        await self.connection.execute("commit" if accepted else "rollback")
        return accepted

    def cut(self) -> None:
        cut(self.connection)
