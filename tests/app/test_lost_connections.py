"""Connections end under us: the next call goes on with others, and nothing is enqueued twice."""

import asyncio
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import psycopg
import pytest

from penstock import Handler, NewJob, Penstock
from penstock.engine.postgres.statement import Statement, nothing
from tests.app.conftest import CountJobs
from tests.app.cut_wire import Wire
from tests.kit.fixtures import Connect
from tests.kit.until import until, wait_until

pytestmark = pytest.mark.needs_session("cuts, delays or counts the connections to the server itself")

Send = Handler[..., None]
IN_USE = 6


def make_send(app: Penstock) -> Send:
    @app.job
    def send(to: object) -> None: ...

    return send


@pytest.fixture
def kill_all(connect: Connect) -> Callable[[], None]:
    """Ends every connection of the application, as a restart of the server does."""
    connection = connect()
    ours = "from pg_stat_activity where application_name = 'penstock' and datname = current_database()"

    def kill() -> None:
        killed = connection.execute(f"select pg_terminate_backend(pid) {ours}".encode()).fetchall()
        assert len(killed) >= IN_USE
        wait_until(lambda: connection.execute(f"select count(*) {ours}".encode()).fetchall() == [(0,)])

    return kill


MEET = Statement("select pg_advisory_lock_shared(1), pg_advisory_unlock_shared(1)", [], nothing)
WAITING = b"select count(*) from pg_stat_activity where wait_event = 'advisory' and datname = current_database()"


def all_in_use(gate: psycopg.Connection) -> bool:
    return gate.execute(WAITING).fetchall() == [(IN_USE,)]


def test_the_pool_survives_the_end_of_all_its_connections(
    app: Penstock, connect: Connect, kill_all: Callable[[], None], count_jobs: CountJobs
) -> None:
    send, gate = make_send(app), connect()
    for act in (lambda: send.enqueue(1), lambda: send.enqueue_many([{"to": 1}] * 30), lambda: app.jobs.list()):
        gate.execute("select pg_advisory_lock(1)")
        threads = [threading.Thread(target=app.engine.run, args=[MEET]) for _ in range(IN_USE)]
        for thread in threads:
            thread.start()
        wait_until(lambda: all_in_use(gate))
        gate.execute("select pg_advisory_unlock(1)")
        for thread in threads:
            thread.join()
        kill_all()
        act()
    assert count_jobs() == 31


async def test_the_same_in_async_code(
    app: Penstock, connect: Connect, kill_all: Callable[[], None], count_jobs: CountJobs
) -> None:
    send, gate = make_send(app), connect()
    for act in (lambda: send.aenqueue(1), lambda: send.aenqueue_many([{"to": 1}] * 30), lambda: app.jobs.alist()):
        gate.execute("select pg_advisory_lock(1)")
        tasks = [asyncio.create_task(app.database.arun(MEET)) for _ in range(IN_USE)]
        await until(lambda: all_in_use(gate))
        gate.execute("select pg_advisory_unlock(1)")
        await asyncio.gather(*tasks)
        kill_all()
        await act()
    assert count_jobs() == 31


@pytest.fixture
def wire(url: str, tmp_path: Path) -> Iterator[Wire]:
    wire = Wire(url, tmp_path)
    yield wire
    wire.close()


def test_a_server_that_is_being_restarted_is_waited_for(
    wire: Wire, count_jobs: CountJobs, monkeypatch: pytest.MonkeyPatch
) -> None:
    with Penstock(wire.url) as app:
        send = make_send(app)
        send.enqueue(1)
        wire.go_down()
        monkeypatch.setattr("penstock.engine.postgres.pools.time.sleep", lambda seconds: wire.come_back())
        send.enqueue(2)
    assert count_jobs() == 2


async def test_it_is_waited_for_in_async_code(
    wire: Wire, count_jobs: CountJobs, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def come_back(seconds: float) -> None:
        wire.come_back()

    async with Penstock(wire.url) as app:
        send = make_send(app)
        await send.aenqueue(1)
        wire.go_down()
        monkeypatch.setattr("penstock.engine.postgres.pools.asyncio.sleep", come_back)
        await send.aenqueue(2)
    assert count_jobs() == 2


def singly(send: Send) -> list[NewJob]:
    return [send.prepare(0)]


def by_json(send: Send) -> list[NewJob]:
    return [send.prepare(n) for n in range(5)]


def by_copy(send: Send) -> list[NewJob]:
    return [send.prepare(n) for n in range(50)]


@pytest.mark.parametrize(("jobs", "word"), [(singly, "enqueue_jobs"), (by_json, "enqueue_jobs"), (by_copy, "COMMIT")])
def test_jobs_whose_commit_went_unanswered_are_found_not_enqueued_twice(
    wire: Wire, count_jobs: CountJobs, jobs: Callable[[Send], list[NewJob]], word: str
) -> None:
    with Penstock(wire.url) as app:
        prepared = jobs(make_send(app))
        wire.cut_at(word)
        handles = app.enqueue_many(prepared)
        assert wire.cuts == 1
        assert [handle.id for handle in handles] == [job.id for job in prepared]
        assert all(handle.created for handle in handles)
    assert count_jobs() == len(prepared)


async def test_the_same_holds_in_async_code(wire: Wire, count_jobs: CountJobs) -> None:
    async with Penstock(wire.url) as app:
        send = make_send(app)
        wire.cut_at("enqueue_plain")
        assert (await send.aenqueue(0)).created
        wire.cut_at("COMMIT")
        assert len(await send.aenqueue_many([{"to": n} for n in range(50)])) == 50
        assert wire.cuts == 2
    assert count_jobs() == 51


def test_handles_keep_their_order_when_some_jobs_existed_and_the_answer_was_lost(
    wire: Wire, count_jobs: CountJobs
) -> None:
    with Penstock(wire.url) as app:
        send = make_send(app).using(unique=True)
        existing = send.enqueue(3)
        prepared = [send.prepare(n) for n in range(6)]
        wire.cut_at("enqueue_jobs")
        handles = app.enqueue_many(prepared)
        assert wire.cuts == 1
        expected = [existing.id if n == 3 else job.id for n, job in enumerate(prepared)]
        assert [handle.id for handle in handles] == expected
        assert [handle.created for handle in handles] == [n != 3 for n in range(6)]
    assert count_jobs() == 6


def test_an_attempt_that_is_still_under_way_when_it_is_repeated_counts_once(
    wire: Wire, connect: Connect, count_jobs: CountJobs
) -> None:
    """The wire is cut while the server works on it: the server notices only after its commit."""
    holder, watcher = connect(), connect()
    with Penstock(wire.url) as app:
        send = make_send(app)
        app.jobs.list()
        holder.execute("begin; lock table penstock.jobs in share mode")
        wire.cut_at("enqueue_plain", answered=False)
        handles = []
        thread = threading.Thread(target=lambda: handles.append(send.enqueue(1)))
        thread.start()
        waiting = (
            b"select count(*) from pg_stat_activity where wait_event = 'relation' and datname = current_database()"
        )
        wait_until(lambda: watcher.execute(waiting).fetchall() == [(2,)])
        holder.execute("commit")
        thread.join()
        assert wire.cuts == 1
        assert handles[0].created
        assert handles[0].refresh().args == {"to": 1}
    assert count_jobs() == 1


def test_a_statement_that_is_not_repeatable_is_not_repeated(wire: Wire, connect: Connect) -> None:
    with Penstock(wire.url) as app:
        app.jobs.list()
        connection = connect()
        connection.execute("create table if not exists effects (n int); truncate effects")
        wire.cut_at("insert into effects")
        with pytest.raises(psycopg.OperationalError):
            app.database.run(Statement("insert into effects values (1) returning n", [], nothing))
        assert connection.execute("select count(*) from effects").fetchall() == [(1,)]
        connection.execute("drop table effects")
