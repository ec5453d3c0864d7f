"""The `penstock` command where the jobs are in Redis, by PENSTOCK_JOBS_URL or by --database-url."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest
from redis import Redis

from penstock import EngineCannot, NewJob, Penstock
from penstock.cli import doctor_redis
from penstock.engine import commands as c
from penstock.engine.bullmq.engine import BullmqEngine
from penstock.engine.bullmq.health import Health
from tests.cli.conftest import Command
from tests.kit import saying
from tests.kit.redis import fresh_redis, redis_server


@pytest.fixture
def address() -> str:
    return fresh_redis()


@pytest.fixture
def app(address: str) -> Iterator[Penstock]:
    with Penstock(address) as app:
        yield app


@pytest.fixture
def penstock(address: str, tmp_path: Path) -> Command:
    """With no database anywhere."""
    folder = str(tmp_path / "none")
    return Command({"DATABASE_URL": None, "PENSTOCK_JOBS_URL": address, "PENSTOCK_FOLDER": folder, "COLUMNS": "200"})


def test_jobs_are_listed_shown_cancelled_and_brought_back(penstock: Command, app: Penstock, address: str) -> None:
    jobs = [NewJob(kind=kind, queue="mail", owner=owner) for kind, owner in (("a", "ada"), ("b", "ada"), ("c", "bob"))]
    app.engine.enqueue(jobs)
    first, second, third = (str(job.id) for job in jobs)

    def listed(*options: str) -> list[str]:
        return [job["id"] for job in penstock.json("jobs", "list", *options)["jobs"]]

    assert listed() == [third, second, first]
    assert listed("--owner", "ada", "--kind", "a", "--kind", "c") == [first]
    assert listed("--limit", "1") == [third]
    assert penstock.json("jobs", "list", "--limit", "1")["next"] == third
    assert listed("--limit", "1", "--before", third) == [second]
    elsewhere = Command(penstock.environment | {"PENSTOCK_JOBS_URL": fresh_redis()})
    assert len(elsewhere.json("jobs", "list", "--database-url", address)["jobs"]) == 3, "what is typed counts"

    lease = app.engine.run(c.OpenLease("hands", queues=["mail"], host="here", pid=1))
    [running] = app.engine.run(c.Claim(lease, "mail"))
    assert penstock.json("jobs", "show", first)["worker"]["worker"] == "hands"
    assert penstock.json("jobs", "cancel", first, second)["ids"] == [first, second]
    rest = penstock.json("jobs", "cancel", "--queue", "mail", "--yes")
    assert (rest["cancelled"], rest["stopping"]) == (1, 1)
    assert app.engine.run(saying.stop_cancelled(lease, [running], "asked to")) == [running.id]
    assert listed("--state", "cancelled") == [third, second, first]
    assert penstock.json("jobs", "retry", first)["ids"] == [first]
    assert penstock.json("jobs", "retry", "--queue", "mail", "--yes")["retried"] == 0, "nothing has failed"
    assert penstock.json("jobs", "priority", "7", "--state", "ready", "--yes")["changed"] == 1
    assert penstock.json("jobs", "show", first)["priority"] == 7
    assert penstock.json("jobs", "purge", "--queue", "mail", "--state", "cancelled", "--yes")["purged"] == 2
    assert listed() == [first]
    done = [(line.action, line.jobs) for line in app.audit.list()]
    assert done[:3] == [("purge", 2), ("set_priority", 1), ("retry", 0)]
    assert app.audit.list(before=app.audit.list()[2].number, limit=1)[0].action == "retry"


def test_queues_and_schedules(penstock: Command, app: Penstock) -> None:
    app.engine.enqueue([NewJob(kind="a", queue="mail")])
    assert penstock.lines("queues", "pause", "mail") == ["mail: paused"]
    assert penstock.lines("queues", "set", "mail", "max_running=3") == ["mail: paused max_running=3"]
    assert penstock.lines("queues", "resume", "mail") == ["mail: active max_running=3"]
    assert [(queue["name"], queue["ready"]) for queue in penstock.json("queues", "list")["queues"]] == [("mail", 1)]
    penstock.lines("schedules", "add", "digest", "0 8 * * MON", "a", "--queue", "mail")
    assert penstock.lines("schedules", "pause", "digest") == ["digest: paused"]
    [id] = penstock.lines("schedules", "run", "digest")
    assert penstock.json("jobs", "show", id)["kind"] == "a"
    assert "next at" in penstock.lines("schedules", "resume", "digest")[0]
    assert penstock.lines("schedules", "remove", "digest") == ["digest: removed"]
    lines = {line.action for line in app.audit.list()}
    assert lines >= {"pause_queue", "set_queue", "resume_queue", "set_schedule", "pause_schedule", "run_schedule"}


def test_top_shows_what_runs_and_ran(penstock: Command, app: Penstock) -> None:
    lease = app.engine.run(c.OpenLease("hands", queues=["mail", "other"]))
    app.engine.enqueue([NewJob(kind="a", queue="mail")])
    [_] = app.engine.run(c.Claim(lease, "mail"))
    app.engine.run(c.ReportStatistics(lease, [c.EndedRuns("mail", "a", succeeded=3, failed=1, ran_seconds=0.5)]))
    seen = penstock.json("top")
    assert (seen["running"], seen["runs"], seen["failures"]) == (1, 4, 1)
    assert [queue["name"] for queue in seen["queues"]] == ["mail", "other"]
    assert [worker["worker"] for worker in penstock.json("workers")["workers"]] == ["hands"]
    assert "Redis (127.0.0.1" in penstock.lines("top", "--once")[0]


def test_what_cannot_be_done_is_refused_by_name_and_changes_nothing(penstock: Command, app: Penstock) -> None:
    app.engine.enqueue([NewJob(kind="a", queue="mail")])
    [job] = app.jobs.list().jobs
    for words in (
        ("jobs", "move", "slow", job.id, "--create"),
        ("jobs", "retry", job.id, "--to-queue", "slow", "--create"),
    ):
        assert "moving jobs to another queue needs a database" in penstock.fails(*words)
    assert "cannot be listed by error" in penstock.fails("jobs", "list", "--error", "timeout")
    with pytest.raises(EngineCannot):
        app.jobs.retry(job.id, queue="slow")
    assert [each.queue for each in app.jobs.list().jobs] == ["mail"]


def findings(penstock: Command, *, code: int) -> dict[str, dict[str, Any]]:
    result = penstock("doctor", "--json")
    assert result.exit_code == code, result.output
    found = {each["about"]: each for each in msgspec.json.decode(result.stdout)["findings"]}
    for each in found.values():
        assert (each["do"] is None) is (each["level"] == "ok")
    return found


def test_the_doctor_looks_at_redis(penstock: Command, app: Penstock, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(doctor_redis, "FAR", 60)
    monkeypatch.setattr(doctor_redis, "SKEW", 60)
    app.engine.run(c.OpenLease("hands", queues=["mail"]))
    found = findings(penstock, code=0)
    assert {about: each["level"] for about, each in found.items()} == {
        "redis": "ok", "packages": "ok", "memory": "ok", "persistence": "warning", "clock": "ok", "workers": "ok",
    }  # fmt: skip
    assert found["redis"]["text"].startswith("Valkey 9")
    app.engine.enqueue([NewJob(kind="a", queue="unserved")])
    assert findings(penstock, code=1)["queue"]["do"] == "penstock worker APP --queues unserved"
    with Redis.from_url(redis_server()) as redis:
        redis.config_set("maxmemory-policy", "allkeys-lru")
        try:
            assert "noeviction" in findings(penstock, code=1)["memory"]["do"]
        finally:
            redis.config_set("maxmemory-policy", "noeviction")


@pytest.mark.parametrize(
    ("about", "changed"),
    [
        ("redis", {"version": (5, 0, 1)}),
        ("memory", {"memory": 99, "max_memory": 100}),
        ("persistence", {"last_write": "aof_last_write_status is err"}),
        ("cluster", {"cluster": "fail", "missing_slots": 5461}),
        ("clock", {"ahead": -100.0}),
    ],
)
def test_each_thing_that_may_be_wrong_says_what_to_do(
    penstock: Command, monkeypatch: pytest.MonkeyPatch, about: str, changed: dict[str, Any]
) -> None:
    good: dict[str, Any] = {
        "address": "here", "server": "Redis", "version": (7, 2, 0), "tls": True, "trip": 0.0, "ahead": 0.0,
        "policy": "noeviction", "memory": 1, "max_memory": 0, "appends": True, "last_write": "ok", "cluster": "ok",
    }  # fmt: skip
    monkeypatch.setattr(BullmqEngine, "health", lambda _: Health(**good))
    found = findings(penstock, code=0)
    assert [each["level"] for each in found.values() if each["about"] != "workers"] == ["ok"] * (len(found) - 1)
    monkeypatch.setattr(BullmqEngine, "health", lambda _: Health(**good | changed))
    wrong = penstock("doctor", "--json")
    [finding] = [each for each in msgspec.json.decode(wrong.stdout)["findings"] if each["about"] == about]
    assert finding["level"] != "ok"
    assert wrong.exit_code == (finding["level"] == "bad")


def test_the_doctor_says_when_nobody_is_there(tmp_path: Path) -> None:
    nowhere = {"DATABASE_URL": None, "PENSTOCK_JOBS_URL": "redis://ada:secret@127.0.0.1:1", "COLUMNS": "200"}
    command = Command({**nowhere, "PENSTOCK_DATABASE_TIMEOUT": "0.2", "PENSTOCK_FOLDER": str(tmp_path / "none")})
    found = findings(command, code=1)
    assert list(found) == ["connection"]
    assert "secret" not in str(found)


def test_jobs_move_by_the_addresses_wherever_others_enqueue_already(penstock: Command, address: str, url: str) -> None:
    both = Command(penstock.environment | {"DATABASE_URL": url})
    with Penstock(url) as here, Penstock(address) as there:
        here.engine.enqueue([NewJob(kind="a", queue="mail")])
        assert both.json("move", "--queue", "mail", "--to", address)["moved"] == 1
        assert (len(here.jobs.list().jobs), len(there.jobs.list().jobs)) == (0, 1)
        assert both.json("move", "--queue", "mail", "--to", url)["moved"] == 1
        assert (len(here.jobs.list().jobs), len(there.jobs.list().jobs)) == (1, 0)
    assert "same sort" in penstock.fails("move", "--queue", "mail", "--to", address)


def test_a_slip_in_the_name_of_the_queue_to_move_is_told(penstock: Command, address: str, url: str) -> None:
    both = Command(penstock.environment | {"DATABASE_URL": url})
    with Penstock(url) as here:
        here.engine.enqueue([NewJob(kind="a", queue="mail")])
        said = both("move", "--queue", "mial", "--to", address)
        assert "0 jobs were moved" in said.stdout
        assert "there is no queue 'mial' (did you mean 'mail'?); nothing was moved" in said.stderr
        for moved in ("1 job was", "0 jobs were"):
            said = both("move", "--queue", "mail", "--to", address)
            assert (f"{moved} moved" in said.stdout, said.stderr) == (True, "")
