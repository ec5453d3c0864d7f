"""`penstock doctor` finds what keeps jobs from running, says what to do, and changes nothing."""

import os
import re
from collections.abc import Iterator
from functools import partial
from typing import Any

import msgspec
import psycopg
import pytest
from psycopg.conninfo import make_conninfo

from penstock import Handler, NewJob, Penstock
from penstock.cli import doctor, doctor_database, doctor_vacuum
from penstock.engine import commands
from penstock.sql import migrations
from penstock.testing.database import address_of
from tests.cli.conftest import Command
from tests.kit.fixtures import Connect
from tests.kit.pooler import PROGRAM, pgbouncer


@pytest.fixture(autouse=True)
def a_busy_machine_is_no_finding(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(doctor_database, "FAR", 60)
    monkeypatch.setattr(doctor_database, "SKEW", 60)
    monkeypatch.setattr(doctor_database, "HEARD_WITHIN", 60)
    monkeypatch.setattr(doctor_database, "CROWDED", 1)


def findings(penstock: Command, *, code: int) -> dict[str, list[dict[str, Any]]]:
    result = penstock("doctor", "--json")
    assert result.exit_code == code, result.output
    found: dict[str, list[dict[str, Any]]] = {}
    for each in msgspec.json.decode(result.stdout)["findings"]:
        assert (each["do"] is None) is (each["level"] == "ok")
        found.setdefault(each["about"], []).append(each)
    return found


def test_a_healthy_database_has_nothing_to_do(penstock: Command, app: Penstock) -> None:
    assert findings(penstock, code=0)["workers"][0]["do"] == "start one: penstock worker APP"
    app.engine.run(commands.OpenLease("worker", queues=["default"], host="here", pid=1))
    found = findings(penstock, code=0)
    for about in (
        "database",
        "extensions",
        "schema",
        "rights",
        "notifications",
        "clock",
        "connections",
        "pools",
        "vacuum",
        "workers",
    ):
        assert [each["level"] for each in found[about]] == ["ok"]
    assert "PostgreSQL" in found["database"][0]["text"]
    assert "1 worker for default" in found["workers"][0]["text"]
    assert f"schema penstock at migration {migrations()[-1].number}" in found["schema"][0]["text"]
    assert found["pools"][0]["text"].startswith("1 worker may open 19 of ")
    lines = penstock.lines("doctor")
    assert all(line.startswith(("✓", "!", " ")) for line in lines)


def test_pg_cron_is_told_what_to_do_where_no_worker_is(penstock: Command, app: Penstock, url: str) -> None:
    line = "select cron.schedule('penstock', '10 seconds', $$select penstock.maintain()$$);"
    assert "pg_cron" not in findings(penstock, code=0)
    app.migrate(with_=["supabase"])
    [nobody] = findings(penstock, code=0)["pg_cron"]
    assert (nobody["level"], nobody["do"]) == ("warning", f"create extension if not exists pg_cron; {line}")
    with psycopg.connect(url, autocommit=True) as connection:
        # as the extension has it
        connection.execute("create schema cron; create table cron.job (command text, active boolean)")
        assert [each["do"] for each in findings(penstock, code=0)["pg_cron"]] == [line]
        lease = app.engine.run(commands.OpenLease("worker", queues=["default"], host="here", pid=1))
        connection.execute("select penstock.lead(%s, now() + interval '50 seconds')", [lease])
        [led] = findings(penstock, code=0)["pg_cron"]
        assert (led["level"], line in led["text"]) == ("ok", True)
        connection.execute("insert into cron.job values ('select penstock.maintain()', true)")
        assert [each["text"] for each in findings(penstock, code=0)["pg_cron"]] == ["tends the queues"]
        connection.execute("drop schema cron cascade")
    app.migrate(without=["supabase"])


def test_readers_without_leases_are_not_taken_for_nobody(
    penstock: Command, app: Penstock, send: Handler[..., None], connect: Connect, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(doctor, "OVERDUE", -7200)  # what is scheduled within two hours
    admin = connect()
    admin.execute("update penstock.leader set until = now()")  # of another test
    app.migrate(with_=["pgmq", "supabase"])
    try:
        admin.execute("select pgmq.create('Orders'), pgmq.send('Orders', '1'), pgmq.send('Orders', '2', 3600)")
        admin.execute("insert into public.jobs (user_id, type) values ('ada', 'reading')")
        task = "insert into public.job_tasks (job_id, task_type) select id, 'text' from public.jobs"
        admin.execute(f"{task} where type = 'reading'".encode())
        found = findings(penstock, code=0)
        assert [(each["level"], each["text"]) for each in found["workers"]] == [
            ("warning", "no worker is there; what waits is left to callers of claim_tasks() and pgmq's readers")
        ]
        assert "maintenance" not in found
        assert found["pg_cron"][0]["level"] == "warning"
        lease = app.engine.run(commands.OpenLease("worker", queues=["default"], host="here", pid=1))
        assert [(each["level"], each["text"]) for each in findings(penstock, code=0)["queue"]] == [
            ("warning", "1 job of orders wait, and no worker serves it: left to pgmq's readers"),
            ("warning", "1 job of tasks wait, and no worker serves it: left to callers of claim_tasks()"),
        ]
        app.engine.run(commands.CloseLease(lease))
        send.enqueue("x")
        assert findings(penstock, code=1)["workers"][0]["text"] == "nobody works"
        # with pgmq alone nobody calls a function that tends anything
        app.migrate(without=["supabase"])
        assert "maintain()" in findings(penstock, code=1)["pg_cron"][0]["do"]
    finally:
        admin.execute("select pgmq.drop_queue('Orders')")
        app.migrate(without=["pgmq"])


def test_what_is_wrong_is_named_with_what_to_do(
    penstock: Command, app: Penstock, send: Handler[..., None], failed: list[str], url: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    monkeypatch.setattr(doctor_vacuum, "OLD_SNAPSHOT", 0)
    monkeypatch.setattr(doctor, "OVERDUE", -7200)
    send.using(queue="slow").enqueue("x")
    send.using(queue="quiet").enqueue("x")
    app.queues.pause("quiet")
    app.engine.enqueue([NewJob(kind="send", args=b'{"to": "x"}', delay=3600)])
    forgotten = partial(psycopg.connect, url)
    with forgotten(application_name="forgotten") as old, forgotten(application_name="half written") as writer:
        writer.execute("create table public.half (n int)")  # and between two statements, without a snapshot
        app.engine.run(commands.OpenLease("worker", queues=["default"], host="here", pid=1))
        old.execute("begin isolation level repeatable read")
        old.execute("select from penstock.jobs")
        found = findings(penstock, code=1)
        pids = {"forgotten": old.info.backend_pid, "half written": writer.info.backend_pid}
        writer.rollback()
    told = {each["text"]: each["do"] for each in found["queue"]}
    assert told == {
        "quiet is paused, and 1 job waits in it": "penstock queues resume quiet",
        "1 job of slow wait, and no worker serves it": "penstock worker APP --queues slow",
    }
    assert {each["do"] for each in found["failed"]} == {
        "penstock jobs list --state failed --queue mail", "penstock jobs list --state failed --queue pdf"
    }  # fmt: skip
    for name, pid in pids.items():
        [open] = [each for each in found["snapshots"] if each["text"].startswith(f"{name} (pid {pid})")]
        assert open["do"].endswith(f"select pg_terminate_backend({pid})")
    assert "nobody tends the queues" in found["maintenance"][0]["text"]


@pytest.fixture
def looked_for_first(connect: Connect, monkeypatch: pytest.MonkeyPatch) -> Iterator[psycopg.Connection[Any]]:
    """What is made in public there is taken for Postgres's own: a real standby would hold back the other tests too."""
    admin = connect()
    monkeypatch.setattr(doctor_database, "LOOKED_INTO", "public, pg_catalog")
    yield admin
    admin.execute(
        "drop view if exists public.pg_replication_slots, public.pg_stat_replication, public.pg_prepared_xacts"
    )


def test_what_holds_back_vacuum_without_a_session_is_named(
    penstock: Command, looked_for_first: psycopg.Connection[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(doctor_vacuum, "RETAINED", 1_000_000)
    admin = looked_for_first
    old = "((pg_current_xact_id()::text::bigint - 100100) & 4294967295)::text::xid"
    slot = "create view public.pg_replication_slots as select slot_name, slot_type, active_pid, wal_status,"
    admin.execute(
        f"""{slot} xmin::xid, catalog_xmin::xid, pg_current_wal_lsn() - wal as restart_lsn
             from (values ('one', 'physical', 7, 'reserved', {old}, null, 0),
                          ('two', 'logical', null, 'reserved', null, {old}, 2000000),
                          ('three', 'logical', 8, 'extended', null, null, 2000000),
                          ('four', 'physical', null, 'lost', {old}, null, 2000000),
                          ('five', 'physical', 9, 'reserved', pg_current_xact_id()::xid, null, 1000))
               as slots (slot_name, slot_type, active_pid, wal_status, xmin, catalog_xmin, wal)""".encode()
    )
    standby = "create view public.pg_stat_replication as select pid, application_name, backend_xmin::xid"
    admin.execute(
        f"{standby} from (values (7, 'one', null), (8, '', {old})) as x (pid, application_name, backend_xmin)".encode()
    )
    admin.execute(
        """create view public.pg_prepared_xacts as
           select gid, 'ada' as owner, database, now() - age as prepared
             from (values ('it''s', current_database(), interval '2 hours'), ('new', current_database(), '1 minute'),
                          ('elsewhere', 'another', '2 hours')) as x (gid, database, age)"""
    )
    found = findings(penstock, code=0)
    assert "vacuum" not in found
    [prepared] = found["prepared"]
    assert prepared["text"].startswith("transaction 'it''s' of ada was prepared 120 min ago")
    assert prepared["do"] == "as ada: commit prepared 'it''s', or rollback prepared 'it''s'"
    told = {re.sub(r"100,\d{3}", "100,1…", each["text"]): each["do"] for each in found["slots"]}
    behind = "of the last 100,1… transactions"
    assert {text: do.split(",")[0] for text, do in told.items()} == {
        f"the physical slot one, used by pid 7, keeps dead rows {behind}": "end what runs long on the standby",
        f"the logical slot two, used by nobody, keeps dead rows of the system's catalogs {behind} and 1953 kB of WAL": (
            "have its standby or subscriber go on"
        ),
        "the logical slot three, used by pid 8, keeps 1953 kB of WAL": "its subscriber is behind: look into its log",
    }
    assert told[next(text for text in told if "two" in text)].endswith("select pg_drop_replication_slot('two')")
    [standby_found] = found["standbys"]
    assert standby_found["text"].startswith("a query on the standby somebody (pid 8) keeps dead rows")
    assert "hot_standby_feedback" in standby_found["do"]


def test_a_slot_that_nobody_uses_is_found_by_the_wal_that_it_keeps(
    penstock: Command, connect: Connect, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(doctor_vacuum, "RETAINED", -1)
    name = f"unused_{os.getpid()}"
    admin = connect()
    admin.execute("select pg_create_physical_replication_slot(%s, true)", [name])
    try:
        [slot] = [each for each in findings(penstock, code=0)["slots"] if name in each["text"]]
    finally:
        admin.execute("select pg_drop_replication_slot(%s)", [name])
    assert slot["text"].startswith(f"the physical slot {name}, used by nobody, keeps ")
    assert slot["text"].endswith(" of WAL")
    assert slot["do"].endswith(f"select pg_drop_replication_slot('{name}')")


def test_a_database_that_cannot_be_reached_is_a_finding_too(homeless: Command) -> None:
    homeless.environment["DATABASE_URL"] = "postgresql://ada:hidden@127.0.0.1:1/shop"
    [found] = findings(homeless, code=1)["connection"]
    assert (found["level"], "refused" in found["text"], "hidden" in found["text"]) == ("bad", True, False)
    assert "DATABASE_URL" in found["do"]


def test_what_was_never_migrated_or_not_of_late(homeless: Command, empty_url: str) -> None:
    homeless.environment["DATABASE_URL"] = empty_url
    with psycopg.connect(empty_url, autocommit=True) as connection:
        found = findings(homeless, code=1)
        assert [(each["text"], each["do"]) for each in found["schema"]] == [
            ("there is no schema penstock in this database", "penstock migrate")
        ]
        assert "workers" not in found, "what needs the schema is not asked"
        with Penstock(empty_url) as app:
            app.migrate()
        assert findings(homeless, code=0)["schema"][0]["level"] == "ok"
        last = migrations()[-1]
        connection.execute("update penstock.schema_migrations set functions = 'older'")
        [found_last] = findings(homeless, code=0)["schema"]
        assert (found_last["level"], found_last["do"]) == ("warning", "penstock migrate")
        connection.execute("delete from penstock.schema_migrations where number = %s", [last.number])
        [missing] = findings(homeless, code=1)["schema"]
        assert missing["text"].endswith(f"missing: {last}")
        connection.execute("comment on schema penstock is 'Penstock, contract 999, serves programs from contract 999'")
        [too_new] = findings(homeless, code=1)["schema"]
        assert "serves programs from contract 999" in too_new["text"]
        connection.execute("drop schema penstock cascade")
        connection.execute("drop extension plpgsql cascade")
        assert findings(homeless, code=1)["extensions"][0]["do"].endswith("create extension plpgsql")


def test_a_database_that_knows_no_characters(homeless: Command, server: str) -> None:
    name = f"ascii_{os.getpid()}"
    with psycopg.connect(server, autocommit=True) as admin:
        of = "encoding 'SQL_ASCII' lc_collate 'C' lc_ctype 'C'"
        admin.execute(f"create database {name} template template0 {of}".encode())
        try:
            homeless.environment["DATABASE_URL"] = address_of(server, name)
            [found] = findings(homeless, code=1)["encoding"]
        finally:
            admin.execute(f"drop database {name} with (force)".encode())
    assert (found["level"], "encoding 'UTF8'" in found["do"]) == ("bad", True)


def test_a_login_without_rights_is_told_which(homeless: Command, penstock: Command, url: str) -> None:
    login = f"stranger_{os.getpid()}"
    with psycopg.connect(url, autocommit=True) as admin:
        admin.execute(f"create role {login} login password 'secret'".encode())
        try:
            homeless.environment["DATABASE_URL"] = make_conninfo(url, user=login, password="secret")
            bad, *warnings = findings(homeless, code=1)["rights"]
            assert bad["text"].startswith(f"{login} may not use all of schema penstock")
            assert bad["do"] == f"as an administrator: grant service_role to {login}"
            assert any(f"grant authenticated to {login}" in each["do"] for each in warnings)
            admin.execute(f"grant service_role, anon, authenticated to {login}".encode())
            admin.execute("create schema cron; create table cron.job (command text, active boolean)")
            found = findings(homeless, code=0)
            assert [each["level"] for each in found["rights"]] == ["ok"]
            [hidden] = found["sessions"]
            assert hidden["text"].startswith(f"{login} may not see since when ")
            assert hidden["do"] == f"as an administrator: grant pg_read_all_stats to {login}"
            admin.execute(f"grant pg_read_all_stats to {login}".encode())
            assert "sessions" not in findings(homeless, code=0)
            assert "pg_cron" not in found, "which is nobody's business that may not look into it"
        finally:
            admin.execute("drop schema if exists cron cascade")
            admin.execute(f"drop owned by {login}; drop role {login}".encode())


def test_clocks_and_leases_that_differ(
    penstock: Command, app: Penstock, connect: Connect, url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    lease = app.engine.run(commands.OpenLease("worker", queues=["default"], host="here", pid=1))
    clock = "create or replace function public.clock_timestamp() returns timestamptz language sql as"
    admin = connect()
    monkeypatch.setattr(doctor_database, "LOOKED_INTO", "public, pg_catalog")
    try:
        for by, about, level, words in (
            ("+ interval '1 hour'", "clock", "warning", "ahead of this machine"),
            ("- interval '1 hour'", "leases", "warning", "the database's clock was set back"),
            ("+ interval '1 hour'", "leases", "bad", "ended"),
        ):
            admin.execute(f"{clock} $$ select pg_catalog.clock_timestamp() {by} $$".encode())
            [found] = findings(penstock, code=int(by[0] == "+"))[about]
            assert (found["level"], words in found["text"]) == (level, True), found
    finally:
        admin.execute("drop function public.clock_timestamp")
        app.engine.run(commands.CloseLease(lease))


def test_more_workers_than_connections_and_rows_that_nobody_cleans_up(
    penstock: Command, app: Penstock, connect: Connect, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(doctor_vacuum, "DEAD_ROWS", 50)
    admin = connect()
    name = admin.info.dbname
    for number in range(3):
        app.engine.run(commands.OpenLease(f"worker {number}", queues=["default"], host="here", pid=number))
    admin.execute(f'alter database "{name}" connection limit 40'.encode())
    admin.execute("insert into penstock.audit (at, who, action) select now(), 'x', 'y' from generate_series(1, 100)")
    admin.execute("delete from penstock.audit")
    admin.execute("select pg_stat_force_next_flush()")
    admin.execute("select")  # at whose end it is counted
    try:
        found = findings(penstock, code=0)
        [pools] = found["pools"]
        assert (pools["level"], pools["text"]) == ("warning", "3 workers may open 57 of 40 connections")
        assert "pool_size" in pools["do"]
        [bloat] = [each for each in found["bloat"] if each["text"].startswith("penstock.audit ")]
        assert bloat["do"].endswith("vacuum penstock.audit")
        monkeypatch.setattr(doctor_database, "CROWDED", 0)
        assert findings(penstock, code=0)["connections"][0]["text"].endswith("are in use")
    finally:
        admin.execute(f'alter database "{name}" connection limit -1'.encode())


def test_notifications_that_do_not_arrive(penstock: Command, url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    if PROGRAM is None:
        pytest.skip("needs PgBouncer: apt-get install pgbouncer")
    monkeypatch.setattr(doctor_database, "HEARD_WITHIN", 0.2)
    with pgbouncer(url) as bounced:
        penstock.environment["DATABASE_URL"] = bounced
        [found] = findings(penstock, code=0)["notifications"]
    assert (found["level"], "pgbouncer.md" in found["do"]) == ("warning", True)
