"""What operators do to one job or to many, and the line that each leaves."""

from typing import Literal

import pytest

from penstock import Handler, InvalidInput, JobState, Penstock
from penstock.engine import commands
from tests.app.worker import Worker

Send = Handler[..., None]
MANY = 2_300


@pytest.fixture
def send(app: Penstock) -> Send:
    @app.job
    def send(to: object) -> None: ...

    return send


def go_on(app: Penstock) -> int:
    """As whoever leads does; how many chunks there were."""
    chunks = 0
    while app.engine.run(commands.ContinueOperation()):
        chunks += 1
    return chunks


def test_a_few_jobs_are_changed_at_once_and_a_line_says_who_did_it(app: Penstock, send: Send) -> None:
    ada = app.operator("ada")
    jobs = [send.enqueue(n) for n in range(4)]
    operation = ada.cancel(ids=[jobs[0].id, jobs[1].id], reason="not wanted")
    assert (operation.state, operation.done, operation.total, operation.total_is_exact) == ("done", 2, 2, True)
    assert [job.refresh().last_error for job in jobs[:2]] == ["not wanted"] * 2
    assert ada.retry(ids=[jobs[0].id]).done == 1
    assert ada.purge(state="cancelled", kind="send").done == 1
    assert app.jobs.get(jobs[1].id) is None
    assert [job.refresh().state for job in (jobs[0], *jobs[2:])] == [JobState.READY] * 3
    assert app.operations.get(operation.id) == operation
    assert [each.action for each in app.operations.list()] == ["purge", "retry", "cancel"]
    lines = app.audit.list()
    assert [(line.who, line.action, line.jobs) for line in lines] == [
        ("ada", "purge", 1), ("ada", "retry", 1), ("ada", "cancel", 2),
    ]  # fmt: skip
    assert lines[-1].target == str(operation.id)
    assert lines[-1].details["options"] == {"reason": "not wanted"}


def test_jobs_are_moved_and_given_priorities_before_they_start(app: Penstock, send: Send) -> None:
    operator = app.operator("ada")
    first, second, later = send.enqueue(1), send.enqueue(2), send.using(delay=3600).enqueue(3)
    worker, slow = Worker(app), Worker(app, "slow")
    running = worker.claim_one()
    assert running.id == first.id
    assert operator.move("slow", queue="default").done == 2
    assert worker.claim() == []
    assert [job.refresh().queue for job in (first, second, later)] == ["default", "slow", "slow"]
    third = send.using(queue="slow").enqueue(4)
    assert operator.set_priority(5, ids=[third.id, first.id]).done == 1
    assert [job.id for job in slow.claim(5)] == [third.id, second.id]
    assert operator.move("slow", ids=[later.id]).done == 0
    assert app.engine.run(commands.MoveJobs([later.id], "default")) == [later.id]
    assert app.engine.run(commands.SetPriority([later.id], 3)) == [later.id]


def test_many_jobs_are_changed_in_chunks_and_whoever_takes_over_repeats_nothing(app: Penstock, send: Send) -> None:
    send.enqueue_many([{"to": n} for n in range(MANY)])
    preview = app.operations.preview("cancel", kind="send")
    assert (preview.jobs, preview.exact) == (MANY, True)
    operation = app.operator("ada").cancel(kind="send")
    assert (operation.state, operation.done, operation.total) == ("running", 0, MANY)
    assert app.engine.run(commands.ContinueOperation())
    # a job that comes later is not meant
    newer = send.enqueue("newer")
    with Penstock(app.url()) as other:
        assert go_on(other) == 2
    found = app.operations.get(operation.id)
    assert found is not None
    assert (found.state, found.done) == ("done", MANY)
    assert newer.refresh().state is JobState.READY
    assert [(line.action, line.jobs) for line in app.audit.list()] == [("cancel done", MANY), ("cancel", None)]


@pytest.mark.parametrize("action", ["move", "set_priority"])
def test_many_jobs_that_are_moved_or_get_another_priority_keep_their_order(
    app: Penstock, send: Send, action: Literal["move", "set_priority"]
) -> None:
    ids = [job.id for job in send.enqueue_many([{"to": n} for n in range(MANY)])]
    app.operator("ada").change(action, {"queue": "slow", "priority": 9}, kind="send")
    assert go_on(app) == 3
    queue = "slow" if action == "move" else "default"
    assert [job.id for job in Worker(app, queue).claim(MANY)] == ids


def test_an_operation_under_way_can_be_cancelled(app: Penstock, send: Send) -> None:
    send.enqueue_many([{"to": n} for n in range(MANY)])
    operator = app.operator("ada")
    operation = operator.set_priority(9, kind="send")
    assert app.engine.run(commands.ContinueOperation())
    assert app.operator("grace").cancel_operation(operation.id)
    assert not operator.cancel_operation(operation.id)
    assert go_on(app) == 0
    found = app.operations.get(operation.id)
    assert found is not None
    assert (found.state, found.done) == ("cancelled", 1000)
    assert [(line.who, line.action) for line in app.audit.list(limit=1)] == [("grace", "set_priority cancelled")]


def test_what_a_chunk_raises_ends_the_operation_and_is_told(app: Penstock, send: Send) -> None:
    send.enqueue_many([{"to": n} for n in range(MANY)])
    operation = app.operator("ada").change("set_priority", {"priority": 2**40}, kind="send")
    assert go_on(app) == 1
    found = app.operations.get(operation.id)
    assert found is not None
    assert (found.state, found.done) == ("failed", 0)
    assert "out of range" in (found.error or "")


async def test_queues_and_schedules_leave_lines_too(app: Penstock, send: Send) -> None:
    ada = app.operator("ada")
    app.schedules.set("daily", "0 8 * * *", "send", {"to": 1})
    ada.pause_queue("mail")
    ada.set_queue("mail", max_running=3)
    await ada.aresume_queue("mail")
    ada.pause_schedule("daily")
    await ada.aresume_schedule("daily")
    handle = await ada.arun_schedule("daily")
    assert handle.refresh().kind == "send"
    with pytest.raises(InvalidInput, match="there is no schedule 'none'"):
        ada.run_schedule("none")
    with pytest.raises(InvalidInput, match="max_running"):
        await ada.aset_queue("mail", max_running=-1)
    [queue] = [each for each in app.queues.list() if each.name == "mail"]
    assert (queue.paused, queue.settings) == (False, {"max_running": 3})
    assert [(line.action, line.target, line.details) for line in await app.audit.alist()] == [
        ("run_schedule", "daily", {}),
        ("resume_schedule", "daily", {}),
        ("pause_schedule", "daily", {}),
        ("resume_queue", "mail", {"settings": {"paused": False}}),
        ("set_queue", "mail", {"settings": {"max_running": 3}}),
        ("pause_queue", "mail", {"settings": {"paused": True}}),
    ]
    lines = app.audit.list(limit=2)
    assert [line.action for line in app.audit.list(limit=1, before=lines[-1].number)] == ["pause_schedule"]


async def test_operations_have_async_twins(app: Penstock, send: Send) -> None:
    ada = app.operator("ada")
    [one, two] = await send.aenqueue_many([{"to": 1}, {"to": 2}])
    assert (await app.operations.apreview("cancel", kind="send")).jobs == 2
    assert (await ada.amove("slow", ids=[one.id])).done == 1
    assert (await ada.aset_priority(2, kind="send")).done == 2
    assert (await ada.acancel(kind="send")).done == 2
    assert (await ada.aretry(ids=[one.id], to_queue="other")).done == 1
    assert (await ada.apurge(ids=[two.id])).done == 1
    operation = (await app.operations.alist())[0]
    assert await app.operations.aget(operation.id) == operation
    assert not await ada.acancel_operation(operation.id)


def test_what_makes_no_sense_is_refused_by_name_and_changes_nothing(app: Penstock, send: Send) -> None:
    job = send.enqueue(1)
    ada = app.operator("ada")
    with pytest.raises(InvalidInput, match="who: must say who it is"):
        app.operator("")
    with pytest.raises(InvalidInput, match="filter: choose jobs by at least one condition"):
        ada.cancel()
    with pytest.raises(InvalidInput, match="action: must be retry"):
        ada.change("delete", kind="send")  # type: ignore[arg-type]
    with pytest.raises(InvalidInput, match="queue: must name the queue"):
        ada.move("", kind="send")
    with pytest.raises(InvalidInput, match="priority: must be a whole number"):
        ada.set_priority(1.5, kind="send")  # type: ignore[arg-type]
    with pytest.raises(InvalidInput, match="colour: no such filter"):
        ada.purge(colour="red")  # type: ignore[call-arg]
    assert job.refresh().state is JobState.READY
    assert app.audit.list() == []
    assert app.operations.list() == []
