import json

import pytest

from penstock.engine import commands
from penstock.job import JobState
from tests.channels import listen
from tests.engine.conftest import Hands
from tests.engine.hand import Hand
from tests.kit import saying


def test_a_job_that_has_not_started_is_cancelled_at_once(hand: Hand) -> None:
    ready, scheduled = hand.add(), hand.add(delay=60)
    blocked = hand.add(after=(scheduled,))
    reached = hand.run(commands.Cancel([ready, scheduled, blocked], "changed my mind"))
    assert set(reached) == {ready, scheduled, blocked}
    assert hand.states(ready, scheduled, blocked) == ["cancelled"] * 3
    assert {hand.job(id).last_error for id in (ready, scheduled, blocked)} == {"changed my mind"}
    assert hand.worker().claim() == []


@pytest.mark.needs_session("hears notifications: LISTEN belongs to a session")
def test_a_running_job_is_asked_to_stop_and_its_worker_is_told(hands: Hands) -> None:
    hand, listener = hands(), hands()
    listen(listener.connection, "cancel")
    id = hand.add()
    worker = hand.worker()
    job = worker.claim_one()
    assert hand.run(commands.Cancel([id])) == [id]
    [notification] = listener.connection.notifies(timeout=5, stop_after=1)
    assert json.loads(notification.payload) == {"lease": worker.lease, "id": str(id)}

    assert (hand.state(id), hand.job(id).cancel_requested) == (JobState.RUNNING, True)
    assert hand.run(saying.report_progress(worker.lease, [job], [{"percent": 10}])) == [commands.Wanted(id, True)]
    assert hand.run(saying.stop_cancelled(worker.lease, [job], "cleaned up")) == [id]
    assert (hand.state(id), hand.job(id).last_error) == (JobState.CANCELLED, "cleaned up")


def test_a_job_that_finishes_all_the_same_has_succeeded(hand: Hand) -> None:
    id = hand.add()
    worker = hand.worker()
    job = worker.claim_one()
    hand.run(commands.Cancel([id]))
    assert worker.complete(job) == []
    assert hand.state(id) is JobState.SUCCEEDED


@pytest.mark.parametrize("end", ["fail", "release", "die", "leave"])
def test_a_job_being_cancelled_does_not_come_back(hand: Hand, end: str) -> None:
    id = hand.add(max_attempts=5)
    worker = hand.worker()
    job = worker.claim_one()
    hand.run(commands.Cancel([id]))
    match end:
        case "fail":
            worker.fail(job)
        case "release":
            hand.run(saying.release(worker.lease, [job]))
        case "die":
            hand.move_clock(seconds=31)
            hand.run(commands.Reclaim())
        case "leave":
            hand.run(commands.CloseLease(worker.lease))
    assert hand.state(id) is JobState.CANCELLED


def test_cancelling_what_is_finished_or_unknown_reaches_nothing(hand: Hand) -> None:
    done = hand.add()
    worker = hand.worker()
    worker.complete(worker.claim_one())
    unknown = hand.value("select penstock.uuid7()")
    assert hand.run(commands.Cancel([done, unknown])) == []
    assert hand.state(done) is JobState.SUCCEEDED


def test_a_handler_may_end_as_cancelled_by_itself(hand: Hand) -> None:
    id = hand.add()
    worker = hand.worker()
    assert hand.run(saying.stop_cancelled(worker.lease, [worker.claim_one()], "nothing to do")) == [id]
    assert (hand.state(id), hand.job(id).last_error) == (JobState.CANCELLED, "nothing to do")
