"""Whoever may connect may NOTIFY and LISTEN. It makes no worker run, stop or look, and tells nothing."""

import asyncio
import json
from collections.abc import Iterator
from datetime import UTC, datetime
from uuid import uuid4

import psycopg
import pytest
from psycopg import errors

from penstock import Penstock
from penstock.engine import commands
from penstock.engine.postgres.drivers import Psycopg, run_one
from penstock.engine.postgres.migrate import migrate
from penstock.job import JobState, Lease
from penstock.server.work.waiting import WaitingWorkers
from penstock.worker.claimer import Claimer
from tests.kit.fixtures import Connect
from tests.kit.until import soon, until
from tests.kit.working import working
from tests.security.conftest import Connection, OpenStranger
from tests.server.watching import Ear, started
from tests.worker.test_handing import idle

SORTS = ("wake", "hand", "cancel", "job")
_CATALOGUES = """
select c.oid::regclass::text from pg_class as c
 where c.relnamespace = 'pg_catalog'::regnamespace and c.relkind in ('r', 'v')
   and has_table_privilege(c.oid, 'select') order by 1
"""


async def test_a_stranger_makes_no_worker_run_or_stop_anything(
    app: Penstock, connect: Connect, stranger: Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    go, began = asyncio.Event(), asyncio.Event()
    ran: list[str] = []

    @app.job
    async def work(name: str) -> None:
        ran.append(name)
        began.set()
        await go.wait()

    async with working(app, {"default": 5}) as worker:
        await idle(connect)
        job = await work.aenqueue("asked for")
        await soon(began.wait())
        lease = worker.lease
        now = datetime.now(UTC).isoformat()
        job_of_theirs = {
            "id": str(uuid4()), "kind": "work", "priority": 0, "turn": 0, "attempt": 1, "max_attempts": 5, "claims": 1,
            "snoozes": 0, "owner": None, "org": None, "parent": None, "created_at": now,
            "args": '{"name": "chosen by a stranger"}', "options": None,
        }  # fmt: skip
        handed = {"lease": lease, "queue": "default", "job": job_of_theirs}
        for channel in ("penstock.hand", "penstock.hand.hand", "hand"):
            stranger.execute("select pg_notify(%s, %s)", [channel, json.dumps(handed, separators=(", ", " : "))])
        for channel in ("penstock.cancel", "cancel"):
            stranger.execute("select pg_notify(%s, %s)", [channel, json.dumps({"lease": lease, "id": str(job.id)})])
        # what is sent in the same way by whoever may, and later, has been heard: so was all before it
        heard = asyncio.Event()
        wake = Claimer.wake

        def hear(claimer: Claimer) -> None:
            heard.set()
            wake(claimer)

        monkeypatch.setattr(Claimer, "wake", hear)
        owner = connect()
        owner.execute("select pg_notify((select wake from penstock.channels), %s)", [str(lease)])
        await soon(heard.wait())
        go.set()
        await job.aresult(10)
        assert (await job.arefresh()).state is JobState.SUCCEEDED
    assert ran == ["asked for"]


async def test_a_stranger_hears_nothing(app: Penstock, connect: Connect, stranger: Connection) -> None:
    for sort in SORTS:
        for name in (sort, f"penstock.{sort}", f"penstock_{sort}", "penstock"):
            stranger.execute(f'listen "{name}"'.encode())
    stranger.execute("listen probe")

    @app.job
    async def work(secret: str) -> None: ...

    async with working(app):
        await idle(connect)
        job = await work.aenqueue("of somebody else")
        await job.aresult(10)
        await job.acancel()
    stranger.execute("notify probe")
    assert [each.channel for each in stranger.notifies(timeout=5, stop_after=1)] == ["probe"]


async def test_the_names_of_the_channels_are_nowhere_to_be_read(
    app: Penstock, connect: Connect, stranger: Connection, url: str
) -> None:
    owner = connect()
    [(secret,)] = owner.execute("select secret::text from penstock.channels").fetchall()
    owner.execute("analyze")
    with pytest.raises(errors.InsufficientPrivilege):
        stranger.execute("select secret from penstock.channels")

    @app.job
    async def work() -> None: ...

    async with working(app):
        await idle(connect)
        for (name,) in stranger.execute(_CATALOGUES).fetchall():
            try:
                found = stranger.execute(
                    f"select count(*) from {name} as t where t::text like %s".encode(), [f"%{secret}%"]
                ).fetchall()
            except errors.InsufficientPrivilege:
                continue
            assert found == [(0,)], name
    # nor by the roles of requests, which may look at tables
    for role in ("authenticated", "anon"):
        with owner.transaction(force_rollback=True):
            owner.execute(f"set local role {role}".encode())
            with pytest.raises(errors.InsufficientPrivilege):
                owner.execute("select secret from penstock.channels")


def test_every_database_has_a_secret_of_its_own(empty_url: str, connect: Connect) -> None:
    migrate(empty_url)
    migrate(empty_url, "another")
    with psycopg.connect(empty_url) as connection:
        secrets = connection.execute(
            "select secret from penstock.channels union all select secret from another.channels"
        ).fetchall()
        names = run_one(Psycopg(connection, "penstock"), commands.GetChannels(), "penstock")
    assert len({*secrets, *connect().execute("select secret from penstock.channels").fetchall()}) == 3
    assert all(len(getattr(names, sort)) <= 63 for sort in SORTS)


def _garbage(lease: Lease) -> Iterator[str]:
    """What no version ever says, some of it addressed to the worker."""
    job = {
        "id": str(uuid4()), "kind": "work", "priority": 0, "turn": 0, "attempt": 1, "max_attempts": 5, "claims": 1,
        "snoozes": 0, "owner": None, "org": None, "parent": None, "created_at": "2030-01-01T00:00:00+00:00",
        "args": "{}", "options": None,
    }  # fmt: skip
    ours = f'{{"lease" : {lease}, "queue" : '
    yield from ("", " ", "null", "[]", "{}", "0", "-1", "9" * 400, "\x01", "\ufffd\U0001f388", "x" * 7_999, "²")
    yield "[" * 3_900 + "]" * 3_900
    yield '{"a":' * 1_300 + "1" + "}" * 1_300
    yield f"[{lease},"
    yield f"[{lease}]"
    yield ours
    yield f'{ours}"default"}}'
    yield f'{ours}"default", "job": []}}'
    yield f'{ours}"default", "job": {{"id": 1}}}}'
    yield f'{ours}7, "job": {json.dumps(job)}}}'
    yield f'{ours}"no such queue", "job": {json.dumps({**job, "colour": "red"})}, "more": 1}}'
    yield f'{ours}"default", "job": {json.dumps({**job, "id": {"deep": []}})}}}'
    yield f'{ours}"default", "job": {json.dumps({**job, "args": "not JSON", "options": "[1"})}}}'
    ids: list[object] = [None, 7, "not an id", [], str(uuid4())]
    for id in ids:
        yield json.dumps({"lease": lease, "id": id, "state": "ended", "unknown": {"field": 1}})
        yield json.dumps({"lease": str(lease), "id": id, "state": 7})


async def test_garbage_on_the_real_channels_disturbs_nobody(
    app: Penstock, connect: Connect, caplog: pytest.LogCaptureFixture
) -> None:
    owner = connect()
    ran: list[int] = []

    @app.job
    async def work(number: int) -> int:
        ran.append(number)
        return number

    workers = WaitingWorkers(app.database)
    await workers.settle()
    async with working(app) as worker, started(app.database) as hub:
        await idle(connect)
        connected = worker.listener.connected
        assert connected is not None
        for sort in SORTS:
            for payload in _garbage(worker.lease):
                owner.execute(
                    f"select pg_notify((select {sort} from penstock.channels), %s)".encode(),
                    [payload],
                )
        handles = [await work.aenqueue(number) for number in range(3)]
        assert [await handle.aresult(20) for handle in handles] == [0, 1, 2]
        ear = Ear()
        later = await work.using(delay=1000).aenqueue(9)
        await hub.join(ear, later.id)
        await later.acancel()
        assert (await ear.hear()).job.state is JobState.CANCELLED
        with workers.polling(Lease(77)) as poll:
            owner.execute("select pg_notify((select wake from penstock.channels), '77')")
            await until(lambda: _is(poll.woken))
        assert worker.listener.connected is connected, "it listens where it did"
        assert workers.listening
        assert hub.listening
    await workers.aclose()
    assert ran == [0, 1, 2]
    complaints = [record.getMessage() for record in caplog.records if "cannot be read" in record.getMessage()]
    assert 0 < len(complaints) <= 3 * len(SORTS)
    [(secret,)] = owner.execute("select secret::text from penstock.channels").fetchall()
    assert secret not in caplog.text


async def _is(what: bool) -> bool:
    return what


def test_no_lock_of_the_engine_is_one_that_a_stranger_can_take(
    connect: Connect, open_stranger: OpenStranger, url: str
) -> None:
    """Anybody may take any advisory lock, and pg_locks shows which there are."""
    owner, stranger = connect(), open_stranger()
    assert not owner.execute(
        "select proname from pg_proc where pronamespace = 'penstock'::regnamespace and prosrc like '%advisory%'"
    ).fetchall()
    owner.execute("""select penstock.set_queue('default', '{"max_running": 5, "fair_by": "owner"}')""")
    stranger.execute("begin")
    for name in ("maintain", "migrate", "limits default", "turns default", "quota daily alice", *map(str, range(64))):
        stranger.execute("select pg_advisory_xact_lock(hashtextextended(%s, 0))", [f"penstock.{name}"])
        stranger.execute("select pg_advisory_xact_lock(hashtextextended(%s, 0))", [f"penstock.turns default{name}"])
    for table in ("jobs", "locks", "channels", "leader", "schema_migrations", "queues"):
        with pytest.raises(errors.InsufficientPrivilege), stranger.transaction():
            stranger.execute(f"lock table penstock.{table} in access share mode".encode())
    owner.execute("set statement_timeout = '5s'")
    [(lease,)] = owner.execute("select penstock.open_lease('worker')").fetchall()
    owner.execute("select penstock.enqueue('work', owner => 'alice')")
    assert owner.execute("select count(*) from penstock.turns where key = 'alice'").fetchall() == [(1,)]
    assert len(owner.execute("select * from penstock.claim(%s, 'default')", [lease]).fetchall()) == 1
    assert owner.execute("select penstock.maintain()").fetchall() != [(None,)]
    assert owner.execute("select penstock.lead(%s)", [lease]).fetchall() == [(True,)]
    owner.execute("""select penstock.set_quota('daily', '{"running": 5}')""")
    owner.execute("select penstock.take_quota('alice', 'daily', 1)")
    migrate(f"{url}{'&' if '?' in url else '?'}options=-cstatement_timeout%3D5s")
