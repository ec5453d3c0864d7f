"""Where a system keeps its jobs: a database of a Postgres, or a Redis. Both are emptied, asked and gauged alike."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any, Protocol

import psycopg
from redis.asyncio import Redis

from bench import proc
from bench.gauge import Gauge, Reading
from bench.systems import System


class Store(Protocol):
    async def empty(self) -> None: ...

    async def unfinished(self) -> bool:
        """Whether a job is left that is not stored as finished."""

    async def read(self) -> Reading:
        """What the server has spent so far."""

    async def settle(self) -> None:
        """Lets it do now what it would do later, in the midst of a measurement."""


class PostgresStore(Store):
    def __init__(self, system: System, connection: psycopg.AsyncConnection[Any], gauge: Gauge) -> None:
        self._system = system
        self._connection = connection
        self._gauge = gauge

    async def empty(self) -> None:
        await self._connection.execute(f"truncate {self._system.tables}".encode())

    async def unfinished(self) -> bool:
        cursor = await self._connection.execute(self._system.unfinished.encode())
        [unfinished] = await cursor.fetchone() or [True]
        return bool(unfinished)

    async def read(self) -> Reading:
        return await self._gauge.read(self._connection)

    async def settle(self) -> None:
        await self._connection.execute("analyze")
        await self._connection.execute("checkpoint")


class RedisStore(Store):
    def __init__(self, system: System, client: "Redis", pid: int) -> None:
        self._keys = system.unfinished.split()
        self._client = client
        self._pid = pid

    async def empty(self) -> None:
        await self._client.flushall()

    async def unfinished(self) -> bool:
        return bool(await self._client.exists(*self._keys))

    async def read(self) -> Reading:
        return Reading(None, proc.cpu_seconds(self._pid))

    async def settle(self) -> None:
        """It has nothing that waits."""


@asynccontextmanager
async def held_snapshot(url: str, table: str) -> AsyncIterator[None]:
    """A transaction left open, as by pg_dump or a forgotten psql: vacuum may remove nothing that it could still see."""
    async with await psycopg.AsyncConnection.connect(url, autocommit=True) as old:
        await old.execute("begin isolation level repeatable read")
        await old.execute(f"select count(*) from {table}".encode())
        yield
