import getpass
import socket
from collections.abc import Callable
from typing import Any

import pytest

from penstock import Handler, Penstock
from penstock.cli.operate import operate
from penstock.engine.commands import Operation
from tests.app.worker import Worker
from tests.cli.conftest import Command

COMMANDS = [["retry"], ["cancel"], ["purge"], ["move", "default"], ["priority", "1"]]
Send = Handler[..., None]
States = Callable[[], dict[str, str]]


@pytest.fixture
def states(app: Penstock) -> States:
    """Each job's state by its id."""
    return lambda: {str(job.id): str(job.state) for job in app.jobs.each()}


def test_retry_by_id_asks_nothing(penstock: Command, failed: list[str], states: States) -> None:
    assert penstock.lines("jobs", "retry", *failed[:2]) == ["2 jobs are alive again"]
    assert list(states().values()) == ["failed", "ready", "ready"]
    assert penstock.json("jobs", "retry", failed[2], failed[0]) == {"retried": 1, "ids": [failed[2]]}


def test_retry_moves_jobs_to_another_queue(penstock: Command, failed: list[str], app: Penstock) -> None:
    penstock.lines("jobs", "retry", failed[0], "--to-queue", "slow", "--create")
    assert [str(job.id) for job in app.jobs.list(queue="slow").jobs] == [failed[0]]
    assert penstock.json("jobs", "retry", "-q", "pdf", "--to-queue", "slow", "-y")["retried"] == 1
    assert [str(job.id) for job in app.jobs.list(queue="slow").jobs] == [failed[2], failed[0]]


def test_retry_by_filter_asks_and_takes_no_for_an_answer(penstock: Command, failed: list[str], states: States) -> None:
    before = states()
    refused = penstock("jobs", "retry", "-q", "mail", answer="n\n")
    assert (refused.exit_code, refused.stdout) == (1, " n\n")
    assert "Retry 2 jobs? [y/N]" in refused.stderr
    unanswered = penstock("jobs", "retry", "-q", "mail", answer="")
    assert unanswered.exit_code == 1
    assert unanswered.stderr.endswith("\nerror: nobody answers here; --yes goes on without the question\n")
    assert states() == before
    assert penstock.lines("jobs", "retry", "-q", "mail", answer="y\n") == ["2 jobs are alive again"]
    assert states() == before | dict.fromkeys(failed[:2], "ready")


@pytest.mark.parametrize("yes", ["--yes", "-y"])
def test_retry_by_filter_does_not_ask_when_told_yes(penstock: Command, failed: list[str], yes: str) -> None:
    result = penstock("jobs", "retry", "-k", "send", "-s", "failed", yes)
    assert (result.stdout, result.stderr) == ("3 jobs are alive again\n", "")


def test_cancel_by_id_asks_nothing(penstock: Command, send: Send, failed: list[str]) -> None:
    live = str(send.enqueue("x").id)
    assert penstock.json("jobs", "cancel", live, failed[0]) == {
        "cancelled": 1, "stopping": 0, "ids": [live]
    }  # fmt: skip
    assert penstock.lines("jobs", "cancel", live) == ["0 jobs cancelled"]


def test_cancel_by_filter_tells_how_many_and_takes_no_for_an_answer(
    penstock: Command, send: Send, app: Penstock, states: States
) -> None:
    send.using(queue="mail").enqueue_many([{"to": "x"}] * 3)
    other = str(send.using(queue="pdf").enqueue("x").id)
    Worker(app, "mail").claim_one()
    before = states()
    refused = penstock("jobs", "cancel", "-q", "mail", answer="n\n")
    assert (refused.exit_code, refused.stdout) == (1, " n\n")
    assert "Cancel 3 jobs? [y/N]" in refused.stderr
    assert states() == before
    assert penstock.lines("jobs", "cancel", "-q", "mail", answer="y\n") == [
        "2 jobs cancelled", "1 running job was asked to stop"
    ]  # fmt: skip
    assert sorted(states().values()) == ["cancelled", "cancelled", "ready", "running"]
    last = penstock.json("jobs", "cancel", "--state", "ready", "--yes")
    assert (last["cancelled"], last["stopping"], states()[other]) == (1, 0, "cancelled")


def test_what_is_enqueued_while_others_are_cancelled_was_not_asked_to_stop(
    penstock: Command, send: Send, states: States, monkeypatch: pytest.MonkeyPatch
) -> None:
    mail = send.using(queue="mail")
    mail.enqueue_many([{"to": "x"}] * 2)

    def operate_while_one_more_comes(*args: Any, **filter: Any) -> Operation:
        done = operate(*args, **filter)
        mail.enqueue("y")
        return done

    monkeypatch.setattr("penstock.cli.jobs.operate", operate_while_one_more_comes)
    assert penstock.lines("jobs", "cancel", "-q", "mail", "--yes") == ["2 jobs cancelled"]
    assert sorted(states().values()) == ["cancelled", "cancelled", "ready"]


@pytest.mark.parametrize("command", COMMANDS, ids=" ".join)
def test_a_change_needs_ids_or_a_filter(
    penstock: Command, failed: list[str], send: Send, states: States, command: list[str]
) -> None:
    send.enqueue("x")
    before = states()
    complaint = penstock.fails("jobs", *command, "--yes")
    assert complaint == "error: ids: name jobs, or choose them by --queue, --kind or --state\n"
    assert states() == before


@pytest.mark.parametrize("command", COMMANDS, ids=" ".join)
def test_json_is_no_yes(penstock: Command, failed: list[str], send: Send, states: States, command: list[str]) -> None:
    send.enqueue("x")
    before = states()
    refused = penstock("jobs", *command, "-k", "send", "--json", answer="")
    assert (refused.exit_code, refused.stdout.strip()) == (1, "")
    assert states() == before


def test_one_job_is_one_job(penstock: Command, failed: list[str], send: Send) -> None:
    assert penstock.lines("jobs", "retry", failed[0]) == ["1 job is alive again"]
    assert penstock.lines("jobs", "cancel", str(send.enqueue("x").id)) == ["1 job cancelled"]
    assert penstock.lines("jobs", "purge", failed[1], "-y") == ["1 job purged"]


def test_a_queue_nobody_knows_is_no_place_to_move_jobs_to(
    penstock: Command, send: Send, failed: list[str], states: States
) -> None:
    send.using(queue="mail").enqueue("x")
    before = states()
    complaint = penstock.fails("jobs", "retry", failed[0], "--to-queue", "mial")
    assert complaint == "error: there is no queue 'mial' (did you mean 'mail'?); --create makes it\n"
    assert states() == before


@pytest.mark.parametrize("command", COMMANDS, ids=" ".join)
def test_a_slip_of_the_pen_is_no_queue_without_jobs(
    penstock: Command, failed: list[str], states: States, command: list[str]
) -> None:
    before = states()
    complaint = penstock.fails("jobs", *command, "-q", "mail", "-q", "pfd", "--yes")
    assert complaint == "error: there is no queue 'pfd' (did you mean 'pdf'?); `penstock queues list` shows them\n"
    assert states() == before


def test_purge_asks_and_takes_no_for_an_answer(penstock: Command, failed: list[str], states: States) -> None:
    before = states()
    for arguments in (["-q", "mail"], [failed[0]], ["-q", "mail", "--json"]):
        refused = penstock("jobs", "purge", *arguments, answer="n\n")
        assert (refused.exit_code, refused.stdout) == (1, " n\n")
        assert f"Delete {'1 job' if failed[0] in arguments else '2 jobs'} for good? [y/N]" in refused.stderr
    assert states() == before
    assert penstock.lines("jobs", "purge", "-q", "mail", answer="y\n") == ["2 jobs purged"]
    assert list(states()) == [failed[2]]


def test_purge_deletes_what_failed_unless_told_otherwise(
    penstock: Command, send: Send, app: Penstock, failed: list[str], states: States
) -> None:
    live, done = send.using(delay=60).enqueue("live"), send.enqueue("done")
    Worker(app).run_all()
    assert penstock.json("jobs", "purge", str(done.id), str(live.id), failed[0], "--yes")["purged"] == 2
    assert penstock.json("jobs", "purge", "-s", "succeeded", "-y")["purged"] == 0
    assert penstock.json("jobs", "purge", "-k", "send", "-y")["purged"] == 2
    assert list(states()) == [str(live.id)]


@pytest.mark.parametrize("command", COMMANDS, ids=" ".join)
def test_an_id_that_is_none_is_an_error_of_usage(penstock: Command, command: list[str]) -> None:
    assert "valid UUID" in penstock.fails("jobs", *command, "x", code=2)


def test_jobs_that_wait_are_moved_and_given_another_priority(penstock: Command, send: Send, app: Penstock) -> None:
    ids = [str(job.id) for job in send.using(queue="mail").enqueue_many([{"to": "x"}] * 3)]
    Worker(app, "mail").claim_one()
    assert "Change 2 jobs? [y/N]" in penstock("jobs", "move", "slow", "-q", "mail", "--create", answer="n\n").stderr
    assert penstock.lines("jobs", "move", "slow", "-q", "mail", "--create", "-y") == ["2 jobs moved to slow"]
    assert penstock.lines("jobs", "priority", 7, ids[2]) == ["1 job now of priority 7"]
    assert penstock.json("jobs", "priority", 8, "-q", "slow", "-y")["changed"] == 2
    assert sorted((job.queue, job.priority) for job in app.jobs.each()) == [("mail", 0), ("slow", 8), ("slow", 8)]
    assert "there is no queue 'mial' (did you mean 'mail'?)" in penstock.fails("jobs", "move", "mial", ids[1])


def test_whatever_is_changed_from_a_terminal_is_on_record(penstock: Command, send: Send, app: Penstock) -> None:
    id = str(send.enqueue("x").id)
    app.schedules.set("nightly", "0 2 * * *", "tidy")
    penstock.lines("jobs", "cancel", id)
    penstock.lines("jobs", "retry", id)
    penstock.lines("jobs", "cancel", "-k", "send", "-y")
    penstock.lines("queues", "pause", "default")
    penstock.lines("queues", "resume", "default")
    penstock.lines("queues", "set", "default", "max_running=3")
    penstock.lines("schedules", "pause", "nightly")
    penstock.lines("schedules", "resume", "nightly")
    penstock.lines("schedules", "run", "nightly")
    penstock.lines("schedules", "add", "weekly", "0 3 * * MON", "tidy", "--args", '{"token": "secret"}')
    penstock.lines("schedules", "remove", "weekly")
    lines = app.audit.list()
    assert [line.action for line in reversed(lines)] == [
        "cancel", "retry", "cancel", "pause_queue", "resume_queue", "set_queue", "pause_schedule", "resume_schedule",
        "run_schedule", "set_schedule", "remove_schedule",
    ]  # fmt: skip
    assert "secret" not in repr(lines)
    assert {line.who for line in lines} == {f"{getpass.getuser()}@{socket.gethostname()}"}
    assert [line.jobs for line in lines if line.action in ("cancel", "retry")] == [1, 1, 1]
    penstock.lines("jobs", "cancel", id)
    assert app.audit.list() == lines, "nothing was changed"
