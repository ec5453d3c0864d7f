"""The database is away: whoever asks for something is told so in time, and the log says it once."""

import asyncio
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import psycopg
import pytest
from psycopg.conninfo import make_conninfo

from penstock import Flow, Handler, Penstock
from penstock.engine.faults import answering_within
from penstock.errors import DatabaseUnavailable, InvalidInput
from tests.app.conftest import CountJobs
from tests.app.cut_wire import Wire
from tests.databases import DatabasesAhead
from tests.kit.fixtures import Connect
from tests.kit.until import until, wait_until

pytestmark = pytest.mark.needs_session("cuts, delays or counts the connections to the server itself")

TIMEOUT = 0.4
IN_TIME = 1.0
Send = Handler[..., None]


def make_send(app: Penstock) -> Send:
    @app.job
    def send(to: object) -> None: ...

    return send


def flow_of(send: Send) -> Flow:
    flow = Flow()
    flow.add(send.prepare(1))
    return flow


@pytest.fixture
def url(databases: DatabasesAhead) -> Iterator[str]:
    """Of its own: what a test has given up may be committed when the next one has begun."""
    made = databases.take()
    yield made[0]
    databases.give_back(made)


@pytest.fixture
def wire(url: str, tmp_path: Path) -> Iterator[Wire]:
    wire = Wire(url, tmp_path)
    yield wire
    wire.close()


Fault = Callable[[Wire], None]
faults = pytest.mark.parametrize("fault", [Wire.go_down, Wire.swallow])
"""Connections are refused; or they are taken and nothing is ever answered, as by a frozen server."""


@faults
def test_enqueue_fails_in_time_and_says_why(wire: Wire, fault: Fault, caplog: pytest.LogCaptureFixture) -> None:
    with Penstock(wire.url, database_timeout=TIMEOUT) as app:
        send = make_send(app)
        send.enqueue(0)
        fault(wire)
        for ask in (
            lambda: send.enqueue(1),
            lambda: app.enqueue(send.prepare(1)),
            lambda: send.enqueue_many([{"to": n} for n in range(50)]),
            lambda: app.enqueue(flow_of(send)),
            lambda: app.jobs.list(),
        ):
            began = time.monotonic()
            with pytest.raises(DatabaseUnavailable, match=r"could not be reached within 0.[4-6] s") as raised:
                ask()
            assert time.monotonic() - began < IN_TIME
            assert isinstance(raised.value, psycopg.OperationalError)
            assert "database_timeout" in str(raised.value)
        wire.come_back() if fault is Wire.go_down else wire.come_to_itself()
        assert send.enqueue(2).created
    told = [each.message for each in caplog.records if each.name == "penstock.database"]
    assert len(told) == 2
    assert told[0].startswith("the database cannot be reached: ")
    assert told[1].startswith("the database is back after ")


def test_a_server_that_refuses_at_once_is_not_told_of_as_a_timeout() -> None:
    """Nothing waited for it, and a longer timeout would not help."""
    with (
        Penstock("postgresql://127.0.0.1:1/nowhere") as app,
        pytest.raises(DatabaseUnavailable, match=r"^the database could not be reached \(.*refused") as raised,
    ):
        app.jobs.list()
    assert raised.value.seconds == 0
    assert str(raised.value).endswith("nothing was written. Check that it runs and that DATABASE_URL says where")


@faults
async def test_the_same_in_async_code(wire: Wire, fault: Fault) -> None:
    async with Penstock(wire.url, database_timeout=TIMEOUT) as app:
        send = make_send(app)
        await send.aenqueue(0)
        fault(wire)
        for ask in (
            lambda: send.aenqueue(1),
            lambda: app.aenqueue(send.prepare(1)),
            lambda: send.aenqueue_many([{"to": n} for n in range(50)]),
            lambda: app.aenqueue(flow_of(send)),
            lambda: app.jobs.alist(),
        ):
            began = time.monotonic()
            with pytest.raises(DatabaseUnavailable):
                await ask()
            assert time.monotonic() - began < IN_TIME


async def test_more_callers_than_connections_are_all_told_in_time(wire: Wire) -> None:
    async with Penstock(wire.url, database_timeout=TIMEOUT, pool_size=2) as app:
        send = make_send(app)
        await send.aenqueue(0)
        wire.swallow()
        began = time.monotonic()
        told = await asyncio.gather(*(send.aenqueue(n) for n in range(8)), return_exceptions=True)
        assert all(isinstance(each, DatabaseUnavailable) for each in told)
        assert time.monotonic() - began < IN_TIME


async def test_a_host_that_is_silent_leaves_time_for_the_next(url: str, wire: Wire, tmp_path: Path) -> None:
    """As the machine of a leader that lost its power, which is named first."""
    folder = tmp_path / "next"
    folder.mkdir()
    next_ = Wire(url, folder)
    wire.swallow()
    async with Penstock(make_conninfo(url, host=f"{tmp_path},{folder}"), database_timeout=2.0) as app:
        send = make_send(app)
        assert send.enqueue(1).created
        assert (await send.aenqueue(2)).created
    next_.close()


def test_one_that_may_have_been_written_says_so(wire: Wire, count_jobs: CountJobs) -> None:
    with Penstock(wire.url, database_timeout=TIMEOUT) as app:
        send = make_send(app)
        send.enqueue(0)
        wire.swallow()
        with pytest.raises(DatabaseUnavailable, match="is not known") as sent:
            send.enqueue(1)
        with pytest.raises(DatabaseUnavailable, match="nothing was written") as unsent:
            send.enqueue(2)
        assert (sent.value.sent, unsent.value.sent) == (True, False)


def test_a_statement_that_waits_for_a_lock_is_not_given_up(wire: Wire, connect: Connect, count_jobs: CountJobs) -> None:
    holder, watcher = connect(), connect()
    waiting = b"select count(*) from pg_stat_activity where wait_event = 'relation' and datname = current_database()"
    with Penstock(wire.url, database_timeout=1.0) as app:
        send = make_send(app)
        send.enqueue(0)
        probes = app.database.pools.sync().kept.contact
        holder.execute("begin; lock table penstock.jobs in share mode")
        thread = threading.Thread(target=send.enqueue, args=[1])
        thread.start()
        wait_until(lambda: watcher.execute(waiting).fetchall() == [(1,)])
        waited_since = time.monotonic()
        wait_until(lambda: probes.answered_at > waited_since)  # it took a look, and the server answered
        holder.execute("commit")
        thread.join()
    assert count_jobs() == 2


async def test_nor_is_one_in_async_code(wire: Wire, connect: Connect, count_jobs: CountJobs) -> None:
    holder = connect()
    async with Penstock(wire.url, database_timeout=1.0) as app:
        send = make_send(app)
        await send.aenqueue(0)
        contact = (await app.database.pools.of_this_loop()).kept.contact
        holder.execute("begin; lock table penstock.jobs in share mode")
        waited_since = time.monotonic()
        enqueueing = asyncio.create_task(send.aenqueue(1))
        await until(lambda: contact.answered_at > waited_since)
        holder.execute("commit")
        assert (await enqueueing).created
    assert count_jobs() == 2


async def test_a_worker_waits_for_longer(wire: Wire) -> None:
    async with Penstock(wire.url, database_timeout=0.1) as app:
        send = make_send(app)
        with answering_within(None):  # to connect, a busy machine takes longer
            await send.aenqueue(0)
        wire.go_down()
        with answering_within(None):
            enqueueing = asyncio.create_task(send.aenqueue(1))
        with pytest.raises(DatabaseUnavailable):
            await send.aenqueue(2)
        assert not enqueueing.done()
        wire.come_back()
        assert (await enqueueing).created


@pytest.mark.parametrize("seconds", [0, -1, float("nan"), "soon"])
def test_a_timeout_that_is_none_is_refused(seconds: float) -> None:
    with pytest.raises(InvalidInput, match="database_timeout"):
        Penstock("postgresql:///x", database_timeout=seconds)


def test_the_environment_may_set_it(monkeypatch: pytest.MonkeyPatch, wire: Wire) -> None:
    monkeypatch.setenv("PENSTOCK_DATABASE_TIMEOUT", "0.2")
    with Penstock(wire.url) as app:
        send = make_send(app)
        with answering_within(None):
            send.enqueue(1)
        wire.go_down()
        with pytest.raises(DatabaseUnavailable, match="within 0"):
            send.enqueue(2)
