import re

import pytest

from penstock import Penstock
from tests.cli.conftest import Command

ADD = ("schedules", "add", "digest", "0 8 * * MON", "send_digest")


def test_add_sets_up_a_schedule_and_says_when_it_comes(penstock: Command, app: Penstock) -> None:
    [line] = penstock.lines(*ADD, "--tz", "Europe/Berlin")
    assert re.fullmatch(r"digest: send_digest next at \d{4}-\d\d-\d\d 0[67]:00:00\+0000", line)
    [schedule] = app.schedules.list()
    assert (schedule.cron, schedule.tz, schedule.kind, schedule.source) == (
        "0 8 * * MON", "Europe/Berlin", "send_digest", "database",
    )  # fmt: skip


def test_add_takes_arguments_and_options_of_its_jobs(penstock: Command) -> None:
    added = penstock.json(
        *ADD, "--args", '{"to": "all"}', "--catch-up", "all", "-q", "mail", "--create", "--priority", "-3",
        "--max-attempts", 2, "--unique",
    )  # fmt: skip
    assert (added["args"], added["catch_up"], added["paused"]) == ({"to": "all"}, "all", False)
    assert added["options"] == {
        "queue": "mail", "priority": -3, "max_attempts": 2, "unique_key": 'send_digest::global::{"to":"all"}',
    }  # fmt: skip


def test_add_again_changes_it(penstock: Command, app: Penstock) -> None:
    penstock.lines(*ADD)
    penstock.lines("schedules", "add", "digest", "0 9 * * *", "send_digest")
    assert [schedule.cron for schedule in app.schedules.list()] == ["0 9 * * *"]


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (
            ["digest", "0 8 * *", "send"],
            "cron: '0 8 * *' is no cron expression such as '30 2 * * MON-FRI' (Wrong number",
        ),
        (["digest", "0 8 * * *", "send", "--tz", "Berlin"], "tz: there is no time zone 'Berlin'; "),
        (
            ["digest", "0 8 * * *", "send", "--args", "[1]"],
            'args: must be a JSON object such as {"document": "d1"}, not',
        ),
        (["digest", "0 8 * * *", "send", "--args", "to=x"], 'args: must be JSON such as {"document": "d1"}: '),
        (["digest", "0 8 * * *", "send", "--max-attempts", "0"], "max_attempts: must be a whole number from 1"),
        (["", "0 8 * * *", "send"], "name: must be text"),
        (["digest", "0 8 * * *", ""], "kind: must not be empty"),
    ],
)
def test_what_makes_no_sense_is_refused_by_name(
    penstock: Command, app: Penstock, arguments: list[str], complaint: str
) -> None:
    assert penstock.fails("schedules", "add", *arguments).startswith(f"error: {complaint}")
    assert app.schedules.list() == []


def test_list_shows_when_each_comes_and_where_it_is_from(penstock: Command, app: Penstock) -> None:
    app.cron("*/5 * * * *")(app.job(kind="report")(lambda: None))
    app.schedules.pause("report")
    penstock.lines(*ADD)
    header, digest, report = penstock.lines("schedules", "list")
    assert header.split() == ["schedule", "cron", "zone", "kind", "next", "last", "from"]
    assert re.fullmatch(r"digest +0 8 \* \* MON +UTC +send_digest +\S+ 08:00:00\+0000 +database *", digest)
    assert re.fullmatch(r"report +\*/5 \* \* \* \* +UTC +report +code +PAUSED *", report)


def test_list_as_json(penstock: Command) -> None:
    assert penstock.json("schedules", "list") == {"schedules": []}
    penstock.lines(*ADD)
    [schedule] = penstock.json("schedules", "list")["schedules"]
    assert schedule.pop("next_tick").endswith("08:00:00Z")
    assert schedule.pop("created_at")
    assert schedule == {
        "name": "digest", "cron": "0 8 * * MON", "kind": "send_digest", "args": {}, "tz": "UTC", "catch_up": "one",
        "options": {"queue": "default", "priority": 0, "max_attempts": 5}, "source": "database", "paused": False,
        "last_tick": None, "last_job": None,
    }  # fmt: skip


def test_list_says_when_there_is_nothing(penstock: Command) -> None:
    [line] = penstock.lines("schedules", "list")
    assert line.startswith("no schedules yet: add one with `penstock schedules add`")


def test_pause_and_resume(penstock: Command, app: Penstock) -> None:
    penstock.lines(*ADD)
    assert penstock.lines("schedules", "pause", "digest") == ["digest: paused"]
    assert app.schedules.list()[0].paused
    assert penstock.json("schedules", "resume", "digest")["paused"] is False
    assert not app.schedules.list()[0].paused


def test_run_enqueues_a_job_and_prints_its_id(penstock: Command, app: Penstock) -> None:
    penstock.lines(*ADD)
    [id] = penstock.lines("schedules", "run", "digest")
    assert [str(job.id) for job in app.jobs.each()] == [id]
    assert penstock.json("schedules", "run", "digest") == {"id": str(app.jobs.list().jobs[0].id)}


def test_remove_takes_it_away(penstock: Command, app: Penstock) -> None:
    penstock.lines(*ADD)
    assert penstock.lines("schedules", "remove", "digest") == ["digest: removed"]
    assert app.schedules.list() == []
    penstock.lines(*ADD)
    assert penstock.json("schedules", "remove", "digest") == {"removed": "digest"}


@pytest.mark.parametrize("command", ["remove", "pause", "resume", "run"])
def test_a_schedule_that_does_not_exist_is_an_error(penstock: Command, command: str) -> None:
    assert penstock.fails("schedules", command, "nightly").startswith("error: name: there is no schedule 'nightly'; ")
