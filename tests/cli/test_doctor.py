"""`penstock doctor` finds what keeps jobs from running, says what to do, and changes nothing."""

from typing import Any

import msgspec
import psycopg
import pytest

from penstock import Handler, NewJob, Penstock
from penstock.cli import doctor
from penstock.engine import commands
from tests.cli.conftest import Command


@pytest.fixture(autouse=True)
def a_busy_machine_is_no_finding(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(doctor, "FAR", 60)
    monkeypatch.setattr(doctor, "SKEW", 60)
    monkeypatch.setattr(doctor, "HEARD_WITHIN", 60)


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
    for about in ("database", "rights", "notifications", "workers"):
        assert [each["level"] for each in found[about]] == ["ok"]
    assert "PostgreSQL" in found["database"][0]["text"]
    assert "1 worker for default" in found["workers"][0]["text"]
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


def test_what_is_wrong_is_named_with_what_to_do(
    penstock: Command, app: Penstock, send: Handler[..., None], failed: list[str], url: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    monkeypatch.setattr(doctor, "OLD_SNAPSHOT", 0)
    monkeypatch.setattr(doctor, "OVERDUE", -7200)
    send.using(queue="slow").enqueue("x")
    send.using(queue="quiet").enqueue("x")
    app.queues.pause("quiet")
    app.engine.enqueue([NewJob(kind="send", args=b'{"to": "x"}', delay=3600)])
    with psycopg.connect(url, application_name="forgotten") as old:
        app.engine.run(commands.OpenLease("worker", queues=["default"], host="here", pid=1))
        old.execute("begin isolation level repeatable read")
        old.execute("select from penstock.jobs")
        found = findings(penstock, code=1)
    told = {each["text"]: each["do"] for each in found["queue"]}
    assert told == {
        "quiet is paused, and 1 job waits in it": "penstock queues resume quiet",
        "1 job of slow wait, and no worker serves it": "penstock worker APP --queues slow",
    }
    assert {each["do"] for each in found["failed"]} == {
        "penstock jobs list --state failed --queue mail", "penstock jobs list --state failed --queue pdf"
    }  # fmt: skip
    [forgotten] = [each for each in found["snapshots"] if each["text"].startswith("forgotten ")]
    assert "pg_terminate_backend" in forgotten["do"]
    assert "nobody tends the queues" in found["maintenance"][0]["text"]
