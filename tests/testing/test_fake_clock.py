"""FakeClock: one time for every connection, and the real one afterwards."""

import asyncio
import subprocess
import sys
from datetime import UTC, datetime, timedelta

import psycopg
import pytest

from penstock import InvalidInput, Penstock
from penstock.engine import commands
from penstock.engine.postgres.statement import Statement, first
from penstock.job import Lease
from penstock.testing import FakeClock, drain
from tests.kit.fixtures import Connect

START = datetime(2030, 5, 1, 12, tzinfo=UTC)
CLOCK: Statement[datetime] = Statement("select penstock.clock()", [], first)


def test_every_connection_sees_it_those_that_are_open_already_too(app: Penstock, connect: Connect) -> None:
    session, busy = connect(), connect()
    for _ in range(10):
        session.execute("select penstock.clock()", prepare=True)  # until its plan is cached
    busy.execute("begin")
    busy.execute("select penstock.clock()")

    def times() -> set[datetime]:
        busy.execute("commit and chain")
        sessions = (session, busy, connect())
        asked = [each.execute("select penstock.clock()").fetchall()[0][0] for each in sessions]
        return {*asked, app.database.run(CLOCK), asyncio.run(app.database.arun(CLOCK))}

    assert len(times()) == 5
    with FakeClock(app, START) as clock:
        assert times() == {START} == {clock.now}
        assert clock.move(days=1, hours=2, minutes=3, seconds=4) == START + timedelta(days=1, seconds=7384)
        assert times() == {clock.now}
        clock.set(START - timedelta(days=400))
        assert times() == {START - timedelta(days=400)}
    assert len(times()) == 5
    assert all(abs(time - datetime.now(UTC)) < timedelta(minutes=1) for time in times())


def test_the_functions_that_look_at_the_time_go_by_it(app: Penstock, connect: Connect) -> None:
    @app.job
    def note() -> None: ...

    lease = app.engine.run(commands.OpenLease("a worker", seconds=30))
    with FakeClock(app) as clock:
        job = note.enqueue()
        assert job.refresh().created_at == clock.now
        assert app.engine.run(commands.ExtendLease(lease)).alive
        clock.move(minutes=5)
        report = app.engine.run(commands.Maintain())
        assert report is not None
        assert not app.engine.run(commands.ExtendLease(Lease(lease))).alive
        drain(app)
        assert job.refresh().finished_at == clock.now


def test_another_process_sees_it(app: Penstock) -> None:
    program = """if True:
        import psycopg, sys
        with psycopg.connect(sys.argv[1]) as connection:
            print(connection.execute("select penstock.clock()").fetchone()[0].isoformat())"""
    with FakeClock(app, START):
        printed = subprocess.run(
            [sys.executable, "-c", program, app.url()], capture_output=True, text=True, check=True
        ).stdout
    assert datetime.fromisoformat(printed.strip()) == START


def test_it_starts_now_unless_told_otherwise(app: Penstock) -> None:
    with FakeClock(app) as clock:
        assert abs(clock.now - datetime.now(UTC)) < timedelta(minutes=1)
        assert app.database.run(CLOCK) == clock.now


def test_the_real_time_is_back_after_a_failed_test(app: Penstock, connect: Connect) -> None:
    source = "select prosrc from pg_proc where oid = 'penstock.clock'::regproc"
    before = connect().execute(source).fetchall()
    with pytest.raises(ZeroDivisionError), FakeClock(app, START):
        raise ZeroDivisionError
    assert connect().execute(source).fetchall() == before


def test_a_time_without_a_zone_is_refused(app: Penstock) -> None:
    with pytest.raises(InvalidInput, match="time zone"):
        FakeClock(app, datetime(2030, 1, 1))
    with FakeClock(app) as clock, pytest.raises(InvalidInput, match="time zone"):
        clock.set(datetime(2030, 1, 1))


def test_it_works_in_another_schema_for_a_user_who_is_no_superuser(empty_url: str) -> None:
    with psycopg.connect(empty_url, autocommit=True) as connection:
        connection.execute("drop role if exists penstock_plain_user")
        connection.execute("create role penstock_plain_user login password 'x'")
        database = connection.info.dbname
        connection.execute(f'grant create on database "{database}" to penstock_plain_user'.encode())
    try:
        url = psycopg.conninfo.make_conninfo(empty_url, user="penstock_plain_user", password="x")
        with Penstock(url, schema="jobs", migrate=True) as app, FakeClock(app, START):
            assert app.database.run(CLOCK) == START
    finally:
        with psycopg.connect(empty_url, autocommit=True) as connection:
            connection.execute("drop owned by penstock_plain_user cascade")
            connection.execute("drop role penstock_plain_user")
