"""A deadlock undoes everything its victim did: the victim begins again by itself."""

import asyncio
import threading

import psycopg
import pytest
from psycopg.conninfo import make_conninfo

from penstock import Handler, JobHandle, Penstock
from penstock.engine.call import Call, all_rows
from tests.app.conftest import CountJobs
from tests.app.until import until
from tests.conftest import Connect

LOCKED = b"""select count(*) from pg_stat_activity
              where wait_event in ('transactionid', 'advisory') and datname = current_database()"""


@pytest.fixture
def impatient(url: str) -> str:
    """Whoever connects here looks for a deadlock before its rival does, and so becomes its victim. Each wait has one
    look: it must not come before the rival waits too."""
    return make_conninfo(url, options="-c deadlock_timeout=1500ms")


@pytest.fixture
def rival(connect: Connect) -> psycopg.Connection:
    """Holds the key `b`, and is patient."""
    connection = connect()
    connection.execute("set deadlock_timeout = '60s'; begin")
    connection.execute("select penstock.enqueue('send', unique_key => 'b')")
    return connection


def send_on(app: Penstock) -> Handler[..., None]:
    @app.job
    def send() -> None: ...

    return send


def test_the_victim_of_a_deadlock_begins_again(
    impatient: str, rival: psycopg.Connection, connect: Connect, count_jobs: CountJobs
) -> None:
    watcher = connect()
    with Penstock(impatient) as app:
        send = send_on(app)
        handles: list[JobHandle[None]] = []
        jobs = [send.using(unique="a").prepare(), send.using(unique="b").prepare()]
        victim = threading.Thread(target=lambda: handles.extend(app.enqueue_many(jobs)))
        victim.start()
        until(lambda: watcher.execute(LOCKED).fetchall() == [(1,)])
        # ours holds `a` and waits for `b`; this waits for `a` until ours has been undone
        rival.execute("select penstock.enqueue('send', unique_key => 'a')")
        rival.execute("commit")
        victim.join()
        assert [handle.created for handle in handles] == [False, False]
    assert count_jobs() == 2


def test_a_call_that_must_not_be_repeated_after_a_loss_is_repeated_after_a_deadlock(
    impatient: str, connect: Connect
) -> None:
    both = Call("select pg_advisory_xact_lock(1), pg_advisory_xact_lock(2)", [], all_rows)
    rival, watcher = connect(), connect()
    rival.execute("set deadlock_timeout = '60s'; begin; select pg_advisory_xact_lock(2)")
    with Penstock(impatient) as app:
        done: list[object] = []
        victim = threading.Thread(target=lambda: done.append(app.engine.run(both)))
        victim.start()
        until(lambda: watcher.execute(LOCKED).fetchall() == [(1,)])
        rival.execute("select pg_advisory_xact_lock(1); commit")
        victim.join()
        assert len(done) == 1


async def test_the_same_in_async_code(
    impatient: str, rival: psycopg.Connection, connect: Connect, count_jobs: CountJobs
) -> None:
    watcher = connect()
    async with Penstock(impatient) as app:
        send = send_on(app)
        jobs = [send.using(unique="a").prepare(), send.using(unique="b").prepare()]
        victim = asyncio.create_task(app.aenqueue_many(jobs))
        await asyncio.to_thread(until, lambda: watcher.execute(LOCKED).fetchall() == [(1,)])
        await asyncio.to_thread(rival.execute, "select penstock.enqueue('send', unique_key => 'a')")
        rival.execute("rollback")
        assert [handle.created for handle in await victim] == [True, True]
    assert count_jobs() == 2
