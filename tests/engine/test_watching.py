"""Watching a job: its progress and its end are told to whoever asked, and nothing is sent for the others."""

import json

import pytest

from penstock.engine import commands
from penstock.flow import batch
from penstock.job import NewJob
from tests.channels import listen
from tests.engine.conftest import Hands
from tests.engine.hand import Hand
from tests.kit import saying

pytestmark = pytest.mark.needs_session("hears notifications: LISTEN belongs to a session")

SILENCE = 0.15


@pytest.fixture
def listener(hands: Hands) -> Hand:
    hand = hands()
    listen(hand.connection, "job")
    return hand


def told(listener: Hand) -> list[tuple[str, str]]:
    notifications = [json.loads(notification.payload) for notification in listener.connection.notifies(timeout=SILENCE)]
    return [(notification["id"], notification["state"]) for notification in notifications]


def test_progress_and_completion_of_a_watched_job_are_told(hand: Hand, listener: Hand) -> None:
    id = hand.add()
    assert hand.run(commands.Watch(id))
    worker = hand.worker()
    job = worker.claim_one()
    told(listener)
    worker.progress(job, 50, message="x" * 20_000)
    assert told(listener) == [(str(id), "running")]
    worker.complete(job)
    assert told(listener) == [(str(id), "succeeded")]


def test_that_a_watched_job_is_claimed_is_told(hand: Hand, listener: Hand) -> None:
    ids = [hand.add() for _ in range(3)]
    hand.run(commands.Watch(ids[1]))
    worker = hand.worker()
    jobs = [worker.claim_one() for _ in range(3)]
    assert told(listener) == [(str(ids[1]), "running")]
    assert [job.claims for job in jobs] == [1, 1, 1]


def test_nothing_is_sent_for_a_job_that_nobody_watches(hand: Hand, listener: Hand) -> None:
    hand.add()
    worker = hand.worker()
    job = worker.claim_one()
    worker.progress(job, 50)
    worker.complete(job)
    assert told(listener) == []


@pytest.mark.parametrize(
    ("end", "state"),
    [("fail", "failed"), ("retry", "scheduled"), ("snooze", "scheduled"), ("stop", "cancelled"), ("release", "ready")],
)
def test_every_way_a_run_can_end_is_told(hand: Hand, listener: Hand, end: str, state: str) -> None:
    id = hand.add()
    hand.run(commands.Watch(id))
    worker = hand.worker()
    job = worker.claim_one()
    told(listener)
    match end:
        case "fail":
            worker.fail(job, final=True)
        case "retry":
            worker.fail(job)
        case "snooze":
            hand.run(saying.snooze(worker.lease, [job], [60]))
        case "stop":
            hand.run(saying.stop_cancelled(worker.lease, [job]))
        case "release":
            hand.run(saying.release(worker.lease, [job]))
    assert told(listener) == [(str(id), state)]


def test_a_watched_flow_tells_the_progress_of_its_children(hand: Hand, listener: Hand) -> None:
    root = hand.start(batch([NewJob(kind="a"), NewJob(kind="b")]))
    hand.run(commands.Watch(root))
    worker = hand.worker()
    first, second = worker.claim(2)
    worker.progress(first, 50)
    assert told(listener) == [(str(root), "blocked")]
    worker.complete(first)
    assert told(listener) == [(str(root), "blocked")]
    worker.complete(second)
    assert told(listener)[-1] == (str(root), "succeeded")


def test_a_finished_or_unknown_job_cannot_be_watched(hand: Hand) -> None:
    id = hand.add()
    worker = hand.worker()
    worker.complete(worker.claim_one())
    assert not hand.run(commands.Watch(id))
    assert not hand.run(commands.Watch(NewJob(kind="never enqueued").id))


def test_a_finish_is_on_record_before_anybody_is_told(hands: Hands, listener: Hand) -> None:
    hand = hands()
    id = hand.add()
    hand.run(commands.Watch(id))
    worker = hand.worker()
    job = worker.claim_one()
    told(listener)
    with hand.connection.transaction():
        worker.complete(job)
        assert told(listener) == []
    assert told(listener) == [(str(id), "succeeded")]
    assert listener.state(id) == "succeeded"
