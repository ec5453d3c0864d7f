"""What idle workers cost the database."""

import asyncio
from collections import Counter
from typing import Any

import psycopg
import pytest

from penstock import Penstock
from penstock.worker import Worker, claimer, leases
from tests.kit.fixtures import Connect
from tests.kit.until import soon, until

WORKERS = 50
WATCHED = 8.0


@pytest.fixture
def statements(monkeypatch: pytest.MonkeyPatch) -> "Counter[str]":
    """Every statement that is sent from here on by async code. The server's own count comes up to ten seconds late."""
    counted: Counter[str] = Counter()
    execute = psycopg.AsyncCursor.execute

    async def count(cursor: Any, query: Any, *args: Any, **options: Any) -> Any:
        counted[query.decode() if isinstance(query, bytes) else str(query)] += 1
        return await execute(cursor, query, *args, **options)

    monkeypatch.setattr(psycopg.AsyncCursor, "execute", count)
    return counted


def start(app: Penstock, place: int) -> tuple[Worker, "asyncio.Task[None]"]:
    """A worker whose lease is extended at a time of its own, as those of workers are that were not started at once."""
    worker = app.worker({"default": 1})
    held = worker.leases
    pause = held.pause

    async def pause_for_a_part() -> None:
        held.pause = pause  # type: ignore[method-assign]
        await asyncio.sleep((place + 1) / WORKERS * held.length * leases.IDLE_SHARE)

    held.pause = pause_for_a_part  # type: ignore[method-assign]
    return worker, asyncio.create_task(worker.run())


async def test_fifty_idle_workers_cost_less_than_five_statements_a_second(
    app: Penstock, connect: Connect, statements: "Counter[str]", monkeypatch: pytest.MonkeyPatch
) -> None:
    # They settle at once, not within two minutes. A settled worker's looks are too rare to be seen, and added instead.
    monkeypatch.setattr(claimer, "FIRST_PAUSE", claimer.LAST_PAUSE)
    looks = WORKERS * WATCHED / claimer.LAST_PAUSE
    watch = connect()
    workers = [start(app, place) for place in range(WORKERS)]
    try:
        for worker, _ in workers:
            await soon(worker.ready.wait())

        await until(lambda: watch.execute("select count(*) from penstock.waiting").fetchone() == (WORKERS,))
        statements.clear()
        await asyncio.sleep(WATCHED)
        seen = Counter(statements)
    finally:
        for worker, _ in workers:
            worker.stop()
        for _, running in workers:
            await soon(running)
    assert WATCHED / 2 < seen.total() + looks < 5 * WATCHED, seen
    # a third of the fifty leases, and one worker's rounds
    assert sum("extend_lease" in each for each in seen.elements()) > 10
