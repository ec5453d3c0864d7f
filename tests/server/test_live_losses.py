"""Watching jobs while connections are lost, jobs are retried, and notifications do not arrive: nothing is missed."""

import asyncio
import time
from collections.abc import AsyncIterator
from typing import Any, TypeVar
from uuid import UUID

import psycopg
import pytest

from penstock.engine import commands
from penstock.engine.postgres.engine import Asked, PostgresEngine
from penstock.engine.postgres.listener import Notifications
from penstock.engine.postgres.statement import Statement
from penstock.server.live import hub as module
from penstock.server.live.hub import Hub
from tests.engine.hand import Hand
from tests.kit import saying
from tests.kit.fixtures import Connect
from tests.kit.pooler import PROGRAM, pgbouncer
from tests.kit.until import until
from tests.server.watching import Counted, Ear, started

T = TypeVar("T")


@pytest.fixture
async def engine(url: str) -> AsyncIterator[Counted]:
    engine = Counted(url)
    yield engine
    await engine.aclose()


async def test_what_happens_during_the_first_look_is_not_missed(engine: Counted, hub: Hub, hand: Hand) -> None:
    id = hand.add()
    worker = hand.worker()
    job = worker.claim_one()
    engine.held = slow = asyncio.Event()
    ear = Ear()
    joining = asyncio.create_task(hub.join(ear, id))
    await until(lambda: engine.held is None)
    worker.progress(job, 30)
    assert (await ear.hear()).job.progress["percent"] == 30
    slow.set()
    topic = await joining
    assert topic.state is not None
    assert topic.state.job.progress["percent"] == 30


async def test_what_happens_while_the_connection_is_lost_is_told(connect: Connect, hub: Hub, hand: Hand) -> None:
    ids = [hand.add() for _ in range(3)]
    worker = hand.worker()
    jobs = {job.id: job for job in worker.claim(3)}
    ears = [Ear() for _ in ids]
    for ear, id in zip(ears, ids, strict=True):
        await hub.join(ear, id)
    for percent in (10, 20):
        cut_listener(connect())
        # before the event loop has a turn, hence before there is another connection
        worker.progress(jobs[ids[0]], percent)
        if percent == 10:
            worker.complete(jobs[ids[1]])
        assert (await ears[0].hear()).job.progress["percent"] == percent
        await until(lambda: hub.listening)
    assert (await ears[1].hear()).final
    worker.progress(jobs[ids[2]], 70)
    assert (await ears[2].hear()).job.progress["percent"] == 70


async def test_a_database_that_takes_no_further_connection_is_asked_on_those_there_are(
    server: str, connect: Connect, hub: Hub, hand: Hand
) -> None:
    id = hand.add()
    worker = hand.worker()
    job = worker.claim_one()
    ear = Ear()
    await hub.join(ear, id)
    name, watch = hand.connection.info.dbname, connect()
    with psycopg.connect(server, autocommit=True) as admin:
        admin.execute(f'alter database "{name}" allow_connections false'.encode())
        cut_listener(watch)
        await until(lambda: not hub.listening)
        for percent in (10, 20):
            worker.progress(job, percent)
            assert (await ear.hear()).job.progress["percent"] == percent
        assert not hub.listening
        admin.execute(f'alter database "{name}" allow_connections true'.encode())
    await until(lambda: hub.listening)


class Standing(PostgresEngine):
    """Once it has sent the notification by which it is found out whether any arrive, nothing runs for a while: a
    program that was stopped, or a computer that slept."""

    async def arun(self, call: Asked[T], /) -> T:
        result = await super().arun(call)
        if isinstance(call, Statement) and "pg_notify" in call.text:
            asyncio.get_running_loop().call_soon(time.sleep, 0.3)
        return result


async def test_who_stood_still_meanwhile_hears_that_notifications_arrive(url: str) -> None:
    engine = Standing(lambda: url)
    notifications = Notifications(engine, ["job"], lambda _, payload: None)
    assert await notifications.open(within=0.1)
    notifications.close()
    await engine.aclose()


async def test_a_job_that_was_retried_before_its_end_was_seen_is_watched_on(hub: Hub, hand: Hand) -> None:
    id = hand.add()
    worker = hand.worker()
    job = worker.claim_one()
    ear = Ear()
    await hub.join(ear, id)
    with hand.connection.transaction():
        worker.fail(job, final=True)
        assert hand.run(commands.Retry([id])) == [id]
    await until(lambda: hand.value("select watched from penstock.jobs where id = %s", id))
    worker.complete(worker.claim_one())
    while not (await ear.hear()).final:
        pass


async def test_a_job_that_was_retried_while_nobody_listened_is_watched_on(
    connect: Connect, hub: Hub, hand: Hand
) -> None:
    id = hand.add()
    worker = hand.worker()
    job = worker.claim_one()
    ear = Ear()
    await hub.join(ear, id)
    cut_listener(connect())
    worker.fail(job, final=True)
    hand.run(commands.Retry([id]))
    await until(lambda: hand.value("select watched from penstock.jobs where id = %s", id))
    worker.complete(worker.claim_one())
    while not (await ear.hear()).final:
        pass


async def test_who_comes_after_a_retry_does_not_get_the_end_before_it(hub: Hub, hand: Hand) -> None:
    id = hand.add()
    worker = hand.worker()
    job = worker.claim_one()
    ear = Ear()
    await hub.join(ear, id)
    worker.fail(job, final=True)
    assert (await ear.hear()).final
    hand.run(commands.Retry([id]))
    topic = await hub.join(Ear(), id)
    assert topic.state is not None
    assert not topic.state.final


async def test_the_success_that_a_queue_does_not_keep_is_told(hub: Hub, hand: Hand) -> None:
    hand.set_queue("default", keep="failed")
    id = hand.add()
    worker = hand.worker()
    job = worker.claim_one()
    ear = Ear()
    await hub.join(ear, id)
    worker.complete(job)
    state = await ear.hear()
    assert hand.run(commands.GetJob(id)) is None
    assert b"event: succeeded" in state.piece("")["body"]


async def test_a_failed_look_leaves_nobody_behind(hub: Hub, hand: Hand, monkeypatch: pytest.MonkeyPatch) -> None:
    id = hand.add()

    async def fail(_: object, call: Statement[object]) -> object:
        raise psycopg.OperationalError("away")

    with monkeypatch.context() as patched:
        patched.setattr(PostgresEngine, "arun", fail)
        with pytest.raises(psycopg.OperationalError):
            await hub.join(Ear(), id)
    assert hub.watchers == 0
    assert (await hub.join(Ear(), id)).state is not None


@pytest.mark.skipif(PROGRAM is None, reason="needs PgBouncer in front of the database: apt-get install pgbouncer")
async def test_behind_a_transaction_pooler_all_watched_jobs_are_polled_in_one_query(
    url: str, hand: Hand, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "_ECHO", 0.2)
    monkeypatch.setattr(module, "_POLL", 0.05)
    ids = [hand.add() for _ in range(5)]
    worker = hand.worker()
    jobs = worker.claim(5)
    with pgbouncer(url) as bounced:
        engine = Counted(bounced)
        async with started(engine, listens=False) as hub:
            ears: dict[UUID, Ear] = {id: Ear() for id in ids}
            for id, ear in ears.items():
                await hub.join(ear, id)
            await until(lambda: hub.at_rest)
            engine.asked.clear()
            for percent in (10, 20):
                hand.run(saying.report_progress(worker.lease, jobs, [{"percent": percent}] * 5))
                for ear in ears.values():
                    assert (await ear.hear()).job.progress["percent"] == percent
            assert not hub.listening
            assert not [text for text in engine.asked if "get_job" in text]
            worker.complete(*jobs)
            for ear in ears.values():
                assert (await ear.hear()).final
        await engine.aclose()


def cut_listener(connection: psycopg.Connection[Any]) -> None:
    [(ended,)] = connection.execute(
        "select count(pg_terminate_backend(pid, 5000)) from pg_stat_activity"
        " where datname = current_database() and query like 'unlisten %' and pid <> pg_backend_pid()"
    )
    assert ended == 1
