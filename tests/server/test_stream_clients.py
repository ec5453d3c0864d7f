"""Many clients, slow ones and ones that leave: what streams cost while nothing happens, and what they hold."""

import asyncio
from contextlib import AsyncExitStack
from typing import Any

import psycopg
import pytest

from penstock.server.live import hub
from penstock.server.live.states import State
from tests.engine.hand import Hand
from tests.kit.fixtures import Connect
from tests.kit.pooler import PROGRAM, pgbouncer
from tests.kit.serving import Served
from tests.kit.until import soon, until
from tests.server.streaming import path_of, serving, streaming


async def test_a_client_that_leaves_is_forgotten_at_once(url: str, hand: Hand) -> None:
    async with serving(url, keep_alive=3600) as server:
        async with streaming(server.port, path_of(hand.add())) as client:
            await client.event()
            assert server.hub.watchers == 1
        await until(lambda: server.hub.watchers == 0)


async def test_idle_clients_cost_no_query(url: str, connect: Connect, hand: Hand) -> None:
    watch = connect()
    ids = [hand.add() for _ in range(5)]
    async with serving(url, keep_alive=0.1) as server, AsyncExitStack() as stack:
        clients = [
            await stack.enter_async_context(streaming(server.port, path_of(ids[n % len(ids)]))) for n in range(30)
        ]
        for client in clients:
            await client.event()
        await until(lambda: server.hub.listening)
        # what is looked up when listening begins
        before = await until(lambda: _at_rest(watch))
        for _ in range(10):
            await clients[0].comment()
        assert _last_queries(watch) == before


async def _at_rest(watch: psycopg.Connection[Any]) -> list[Any] | None:
    before = _last_queries(watch)
    await asyncio.sleep(0.2)
    return before if _last_queries(watch) == before else None


def _last_queries(watch: psycopg.Connection[Any]) -> list[Any]:
    """When each other session was last asked for anything."""
    return watch.execute(
        "select pid, query_start from pg_stat_activity"
        " where datname = current_database() and pid <> pg_backend_pid() and backend_type = 'client backend'"
        " order by pid"
    ).fetchall()


async def test_a_slow_client_gets_the_newest_and_holds_no_more(url: str, hand: Hand) -> None:
    id = hand.add()
    worker = hand.worker()
    job = worker.claim_one()
    updates, size = 120, 100_000
    async with serving(url, keep_alive=3600) as server, streaming(server.port, path_of(id), buffer=4096) as slow:
        await slow.event()
        await listening(server)
        fast = Fast()
        topic = await server.hub.join(fast, id)
        for n in range(1, updates + 1):
            worker.progress(job, n / 2, message="x" * size)
            await soon(fast.told.get())
        server.hub.part(fast, topic)
        told: list[float] = []
        while not told or told[-1] != updates / 2:
            event = await slow.event()
            assert event is not None
            told.append(event.data["progress"]["percent"])
        # what fits into the sockets' buffers arrives first
        assert told == sorted(told)
        assert len(told) < updates * 3 / 4
        worker.complete(job)
        assert [event.name for event in await slow.events()] == ["succeeded"]


class Fast:
    """A watcher that reads everything."""

    def __init__(self) -> None:
        self.told: asyncio.Queue[State] = asyncio.Queue()

    def tell(self, state: State) -> None:
        self.told.put_nowait(state)

    def keep_alive(self) -> None:
        pass

    def leave(self) -> None:
        pass


async def test_a_client_that_reads_nothing_does_not_keep_the_server_for_ever(url: str, hand: Hand) -> None:
    id = hand.add()
    worker = hand.worker()
    job = worker.claim_one()
    async with (
        serving(url, stream_seconds=4, keep_alive=3600) as server,
        streaming(server.port, path_of(id), buffer=4096) as slow,
    ):
        await slow.event()
        await listening(server)
        fast = Fast()
        topic = await server.hub.join(fast, id)
        for n in range(1, 61):
            worker.progress(job, n, message="x" * 200_000)
            await soon(fast.told.get())
        server.hub.part(fast, topic)
        await until(lambda: server.hub.watchers == 0)


async def test_a_slow_client_keeps_nobody_waiting(url: str, hand: Hand) -> None:
    id = hand.add()
    worker = hand.worker()
    job = worker.claim_one()
    async with (
        serving(url, keep_alive=3600) as server,
        streaming(server.port, path_of(id), buffer=4096) as slow,
        streaming(server.port, path_of(id)) as quick,
    ):
        await slow.event()
        await quick.event()
        await listening(server)
        for n in range(1, 101):
            worker.progress(job, n / 2, message="x" * 100_000)
            event = await quick.event()
            assert event is not None
            assert event.data["progress"]["percent"] == n / 2


async def test_a_stream_goes_on_when_the_listening_connection_is_lost(url: str, connect: Connect, hand: Hand) -> None:
    id = hand.add()
    worker = hand.worker()
    job = worker.claim_one()
    watch = connect()
    async with serving(url) as server, streaming(server.port, path_of(id)) as client:
        await client.event()
        await listening(server)
        watch.execute(
            "select pg_terminate_backend(pid, 5000) from pg_stat_activity"
            " where datname = current_database() and query like 'unlisten %'"
        )
        worker.progress(job, 10)
        event = await client.event()
        assert event is not None
        assert event.data["progress"]["percent"] == 10
        worker.complete(job)
        assert [event.name for event in await client.events()] == ["succeeded"]


@pytest.mark.skipif(PROGRAM is None, reason="needs PgBouncer in front of the database: apt-get install pgbouncer")
async def test_behind_a_transaction_pooler_a_stream_polls(
    url: str, hand: Hand, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(hub, "_ECHO", 0.2)
    id = hand.add()
    worker = hand.worker()
    job = worker.claim_one()
    with pgbouncer(url) as bounced:
        async with serving(bounced) as server, streaming(server.port, path_of(id)) as client:
            await client.event()
            worker.progress(job, 10)
            event = await client.event()
            assert event is not None
            assert event.data["progress"]["percent"] == 10
            assert not server.hub.listening
            worker.complete(job)
            assert [event.name for event in await client.events()] == ["succeeded"]


async def listening(server: Served) -> None:
    await until(lambda: server.hub.listening)
