"""Two databases on one server, a small one and a large one, and what the same thing costs in each.

Sides take turns, and the best round of each counts: whatever else a machine does can only add to it. Statements are
counted by the CPU of their backend, where /proc tells it; what Python does too by the clock.
"""

import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager, contextmanager
from dataclasses import dataclass
from typing import Any

import psycopg
from psycopg import sql
from psycopg.conninfo import make_conninfo

from bench.durable_waiting import clock_of, cpu_of, open_lease
from penstock import Penstock

ROUNDS = 5


class Side:
    """One of the two: its size, a connection that is timed, and an application."""

    def __init__(self, size: int, app: Penstock, connection: psycopg.Connection[Any]) -> None:
        self.size = size
        self.app = app
        self.connection = connection
        self.lease = open_lease(connection)
        self._clock = clock_of(connection)

    @property
    def url(self) -> str:
        return self.app.url()

    def run(self, text: str, *arguments: object) -> list[Any]:
        return self.connection.execute(text.encode(), arguments or None).fetchall()

    def server_cpu(self) -> float:
        """Seconds of all backends of this side's database, whosever they are; of the clock where there is no /proc."""
        rows = self.run("select pid from pg_stat_activity where datname = current_database()")
        return sum(cpu_of(pid) or 0.0 for (pid,) in rows) or time.perf_counter()

    @contextmanager
    def timed(self, into: list[float]) -> Iterator[None]:
        """Adds the milliseconds of this side's backend."""
        began = self._clock()
        yield
        into.append((self._clock() - began) * 1000)

    def cost(self, text: str, *arguments: object) -> float:
        took: list[float] = []
        with self.timed(took):
            self.run(text, *arguments)
        return took[0]


@dataclass(frozen=True)
class Sides:
    small: Side
    large: Side

    def compare(self, cost: Callable[[Side], float], rounds: int = ROUNDS) -> dict[str, float]:
        """The best of each, once both have warmed up."""
        costs: dict[str, list[float]] = {"small": [], "large": []}
        for number in range(rounds + 1):
            for name, side in self._in_turn(number):
                costs[name].append(cost(side))
        return _best(costs)

    async def acompare(self, cost: Callable[[Side], Awaitable[float]], rounds: int = ROUNDS) -> dict[str, float]:
        costs: dict[str, list[float]] = {"small": [], "large": []}
        for number in range(rounds + 1):
            for name, side in self._in_turn(number):
                costs[name].append(await cost(side))
        return _best(costs)

    def _in_turn(self, number: int) -> Sequence[tuple[str, Side]]:
        both = [("small", self.small), ("large", self.large)]
        return both if number % 2 else both[::-1]


def _best(costs: Mapping[str, Sequence[float]]) -> dict[str, float]:
    best = {name: min(each[1:]) for name, each in costs.items()}
    return {**best, "ratio": best["large"] / best["small"] if best["small"] else float("inf")}


@asynccontextmanager
async def sides(url: str, name: str, small: int, large: int) -> AsyncIterator[Sides]:
    """Two empty databases of that name, gone afterwards."""
    async with AsyncExitStack() as stack:
        made = [await stack.enter_async_context(_side(url, f"scale_{name}_{size}", size)) for size in (small, large)]
        yield Sides(*made)


@asynccontextmanager
async def _side(url: str, database: str, size: int) -> AsyncIterator[Side]:
    target = make_conninfo(url, dbname=database)
    drop = sql.SQL("drop database if exists {} with (force)").format(sql.Identifier(database))
    with psycopg.connect(url, autocommit=True) as outside:
        outside.execute(drop)
        outside.execute(sql.SQL("create database {}").format(sql.Identifier(database)))
        async with Penstock(target) as app:
            app.migrate()
            with psycopg.connect(target, autocommit=True) as connection:
                yield Side(size, app, connection)
        outside.execute(drop)
