"""`@app.cron` and `app.schedules`: what code defines, what the database is told, and what is refused."""

from collections.abc import Callable
from datetime import UTC, datetime
from itertools import pairwise
from typing import Any, Literal
from uuid import uuid4

import pytest

from penstock import Handler, InvalidArguments, InvalidInput, Penstock
from penstock.cron import RecordedSchedule, next_tick
from tests.app.conftest import CountJobs
from tests.kit.fixtures import Connect


def only(app: Penstock) -> RecordedSchedule:
    [schedule] = app.schedules.list()
    return schedule


def test_cron_makes_a_function_a_handler_with_a_schedule_of_its_name(app: Penstock) -> None:
    @app.cron("0 2 * * *", tz="Europe/Berlin", queue="slow", max_attempts=2)
    def report() -> str:
        return "done"

    [schedule] = app.schedules.code
    assert (schedule.name, schedule.cron, schedule.tz, schedule.kind) == (
        "report",
        "0 2 * * *",
        "Europe/Berlin",
        "report",
    )
    assert (schedule.args, schedule.catch_up) == ({}, "one")
    assert (schedule.options["queue"], schedule.options["max_attempts"]) == ("slow", 2)
    assert isinstance(report, Handler)
    assert report.options.queue == "slow"
    assert app.kinds == ["report"]
    assert report() == "done"


def test_cron_above_a_handler_schedules_it_with_options_of_its_own(app: Penstock) -> None:
    @app.cron("0 2 * * *", args={"size": 2}, priority=7, unique=True)
    @app.cron("0 14 * * *", args={"size": 1}, name="afternoon", catch_up="all")
    @app.job(queue="slow")
    def report(size: int, deep: bool = False) -> None: ...

    afternoon, night = app.schedules.code
    assert (afternoon.name, afternoon.args, afternoon.catch_up) == ("afternoon", {"size": 1}, "all")
    assert (night.name, night.args, night.kind) == ("report", {"size": 2}, "report")
    assert (night.options["priority"], night.options["queue"]) == (7, "slow")
    assert night.options["unique_key"] == 'report::global::{"size":2}'
    assert report.options.priority == 0
    assert app.kinds == ["report"]


@pytest.mark.parametrize(
    ("choices", "message"),
    [
        ({"cron": "0 25 * * *", "args": {"to": "x"}}, "cron: '0 25 [*] [*] [*]' is no cron expression"),
        ({"cron": "never", "args": {"to": "x"}}, "cron: 'never' is no cron expression"),
        ({"tz": "Mars/Olympus", "args": {"to": "x"}}, "tz: there is no time zone 'Mars/Olympus'"),
        ({"catch_up": "some", "args": {"to": "x"}}, "catch_up: 'some' is none of none, one, all"),
        ({}, "to: is missing"),
        ({"args": {"to": 5}}, "to: Expected `str`, got `int`"),
        ({"args": {"to": "x", "cc": "y"}}, "cc: is no argument of this handler"),
        ({"args": {"to": "x"}, "max_attempts": 0}, "max_attempts: must be a whole number"),
        ({"args": {"to": "x"}, "run_at": datetime(2030, 1, 1, tzinfo=UTC)}, "run_at: is for one job"),
        ({"args": {"to": "x"}, "after": [uuid4()]}, "after: is for one job"),
        ({"args": {"to": "x"}, "name": ""}, "name: must be text"),
        ({"args": {"to": "x"}, "name": "taken"}, "name: 'taken' is taken; give this schedule another"),
    ],
)
@pytest.mark.parametrize("stacked", [False, True], ids=["on a function", "above a handler"])
def test_a_schedule_that_makes_no_sense_is_refused_where_it_is_written(
    choices: dict[str, Any], message: str, stacked: bool
) -> None:
    app = Penstock("postgresql://nowhere")
    app.cron("0 1 * * *", name="taken")(app.job(kind="other")(lambda: None))

    def send(to: str) -> None: ...

    function: Callable[..., Any] = app.job(send) if stacked else send
    with pytest.raises(InvalidInput, match=f"^{message}"):
        app.cron(**{"cron": "0 2 * * *"} | choices)(function)
    assert [schedule.name for schedule in app.schedules.code] == ["taken"]


def test_a_schedule_of_the_database_is_set_changed_and_removed(app: Penstock) -> None:
    app.schedules.set("digest", "0 8 * * MON", "send_digest", {"to": "all"}, tz="Europe/Berlin", queue="mail")
    first = only(app)
    assert (first.name, first.cron, first.tz, first.kind) == ("digest", "0 8 * * MON", "Europe/Berlin", "send_digest")
    assert (first.args, first.catch_up, first.source, first.paused) == ({"to": "all"}, "one", "database", False)
    assert first.options["queue"] == "mail"
    assert (first.last_tick, first.last_job) == (None, None)
    assert first.next_tick == next_tick("0 8 * * MON", "Europe/Berlin", first.created_at)
    app.schedules.set("digest", "0 9 * * MON", "send_digest")
    second = only(app)
    assert (second.cron, second.tz, second.args, second.created_at) == ("0 9 * * MON", "UTC", {}, first.created_at)
    assert app.schedules.remove("digest") is True
    assert app.schedules.list() == []
    assert app.schedules.remove("digest") is False


def test_arguments_of_a_kind_that_is_known_are_checked_and_its_options_taken(app: Penstock) -> None:
    @app.job(queue="mail")
    def send(to: str) -> None: ...

    with pytest.raises(InvalidArguments, match=r"^to: is missing$"):
        app.schedules.set("daily", "0 8 * * *", "send")
    with pytest.raises(InvalidInput, match=r"^cron: 'daily' is no cron expression"):
        app.schedules.set("daily", "daily", "send", {"to": "ada"})
    assert app.schedules.list() == []
    app.schedules.set("daily", "0 8 * * *", "send", {"to": "ada"})
    assert only(app).options["queue"] == "mail"


def test_a_pause_lasts_until_resume(app: Penstock) -> None:
    app.schedules.set("digest", "* * * * *", "send_digest")
    app.schedules.pause("digest")
    assert (only(app).paused, only(app).next_tick) == (True, None)
    app.schedules.set("digest", "*/2 * * * *", "send_digest")
    assert (only(app).paused, only(app).next_tick) == (True, None)
    app.schedules.resume("digest")
    assert not only(app).paused
    planned = only(app).next_tick
    assert planned
    assert planned.minute % 2 == 0
    app.schedules.resume("digest")
    assert only(app).next_tick == planned


async def test_the_next_runs_are_told_but_of_a_paused_schedule_none(app: Penstock) -> None:
    app.schedules.set("digest", "0 8 * * MON", "send_digest", tz="Europe/Berlin")
    runs = app.schedules.next_runs("digest", 3)
    assert runs[0] == only(app).next_tick
    assert [(later - sooner).days for sooner, later in pairwise(runs)] in ([7, 7], [6, 7], [7, 6])
    assert await app.schedules.anext_runs("digest", 3) == runs
    app.schedules.pause("digest")
    assert app.schedules.next_runs("digest") == []
    with pytest.raises(InvalidInput, match="there is no schedule 'none'"):
        app.schedules.next_runs("none")


def test_run_now_enqueues_a_job_beside_the_ticks(app: Penstock) -> None:
    app.schedules.set("digest", "0 8 * * *", "send_digest", {"to": "all"}, queue="mail")
    app.schedules.pause("digest")
    job = app.schedules.run_now("digest").refresh()
    assert (job.kind, job.args, job.queue) == ("send_digest", {"to": "all"}, "mail")
    assert job.options == {"schedule": "digest"}
    assert (only(app).last_job, only(app).last_tick) == (job.id, None)


def test_what_is_done_to_a_schedule_that_does_not_exist_is_refused(app: Penstock, count_jobs: CountJobs) -> None:
    for act in (app.schedules.pause, app.schedules.resume, app.schedules.run_now):
        with pytest.raises(InvalidInput, match=r"^name: there is no schedule 'nightly'$"):
            act("nightly")
    assert count_jobs() == 0


def test_a_schedule_of_the_code_can_be_used_before_a_worker_has_recorded_it(app: Penstock) -> None:
    @app.cron("0 2 * * *")
    def report() -> None: ...

    assert app.schedules.run_now("report").refresh().kind == "report"
    assert only(app).source == "code"
    app.schedules.pause("report")
    app.schedules.run_now("report")
    assert only(app).paused


@pytest.mark.parametrize(("quota", "kept"), [("reports", "reports"), (False, None)])
def test_a_schedule_of_somebody_s_counts_against_the_quota_of_its_kind(
    app: Penstock, connect: Connect, quota: str | Literal[False], kept: str | None
) -> None:
    @app.cron("0 2 * * *", owner="ada", quota=quota)
    @app.job(quota="reports")
    def report() -> None: ...

    app.schedules.run_now("report")
    assert connect().execute("select owner, quota from penstock.jobs").fetchall() == [("ada", kept)]


def test_a_schedule_of_the_code_is_not_changed_from_elsewhere(app: Penstock) -> None:
    @app.cron("0 2 * * *")
    def report() -> None: ...

    app.schedules.run_now("report")
    with pytest.raises(InvalidInput, match=r"^name: report is a schedule of the code; change it there"):
        app.schedules.set("report", "0 3 * * *", "report")
    assert only(app).cron == "0 2 * * *"


async def test_schedules_have_async_twins(app: Penstock) -> None:
    await app.schedules.aset("digest", "0 8 * * *", "send_digest", {"to": "all"})
    await app.schedules.apause("digest")
    assert (await app.schedules.alist())[0].paused
    await app.schedules.aresume("digest")
    assert not (await app.schedules.alist())[0].paused
    job = await (await app.schedules.arun_now("digest")).arefresh()
    assert job.kind == "send_digest"
    assert await app.schedules.aremove("digest")
    with pytest.raises(InvalidInput, match=r"^name: there is no schedule 'digest'$"):
        await app.schedules.apause("digest")
