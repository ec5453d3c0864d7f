"""Waking idle workers: a NOTIFY only where somebody waits, and to no more of them than there are jobs."""

import pytest

from penstock.engine import commands
from penstock.job import Lease, NewJob
from tests.channels import listen
from tests.engine.conftest import Hands
from tests.engine.hand import Hand
from tests.engine.test_limits import bulk
from tests.kit import saying

pytestmark = pytest.mark.needs_session("hears notifications: LISTEN belongs to a session")

SILENCE = 0.15


@pytest.fixture
def listener(hands: Hands) -> Hand:
    """Hears everything that is sent to workers."""
    hand = hands()
    listen(hand.connection, "wake")
    return hand


def woken(listener: Hand, *, at_most: int = 100) -> list[Lease]:
    """Whom the notifications are for; waits for them no longer than it takes to be sure that no more come."""
    notifications = listener.connection.notifies(timeout=SILENCE, stop_after=at_most)
    return [Lease(int(notification.payload)) for notification in notifications]


def wait(hand: Hand, *queues: str) -> Lease:
    worker = hand.worker()
    hand.run(commands.WaitForWork(worker.lease, queues or ("default",)))
    return worker.lease


def test_nobody_is_notified_when_nobody_waits(hand: Hand, listener: Hand) -> None:
    hand.worker()
    hand.add()
    bulk(hand, 50)
    assert woken(listener) == []


def test_a_waiting_worker_of_the_queue_is_woken(hand: Hand, listener: Hand) -> None:
    for _ in range(10):
        wait(listener, "other")
    mine = wait(listener, "default", "mail")
    for _ in range(5):
        hand.add(queue="mail")
    assert set(woken(listener)) == {mine}


def test_no_more_are_woken_than_there_are_jobs(hand: Hand, listener: Hand) -> None:
    waiting = {wait(listener) for _ in range(5)}
    hand.add()
    assert len(woken(listener)) == 1
    hand.enqueue(NewJob(kind="a"), NewJob(kind="b"))
    assert len(set(woken(listener))) == 2
    bulk(hand, 50)
    assert set(woken(listener)) == waiting


def test_jobs_that_cannot_start_yet_wake_nobody_before_they_can(hand: Hand, listener: Hand) -> None:
    lease = wait(listener)
    hand.add("later", delay=60)
    woken(listener)
    hand.move_clock(seconds=61)
    hand.run(commands.Promote())
    assert woken(listener) == [lease]


def test_a_worker_whose_backend_is_gone_is_passed_over(hands: Hands, listener: Hand) -> None:
    hand, dead = hands(), hands()
    wait(dead)
    alive = wait(listener)
    backend = dead.connection.info.backend_pid
    dead.connection.close()
    while hand.value("select exists (select from pg_stat_get_activity(%s))", backend):
        pass  # it ends a moment after its client
    for _ in range(5):
        hand.add()
    assert set(woken(listener)) == {alive}


def test_who_stopped_waiting_is_left_alone(hand: Hand, listener: Hand) -> None:
    lease = wait(listener)
    hand.run(commands.StopWaiting(lease))
    hand.add()
    assert woken(listener) == []


def test_nobody_is_woken_before_the_enqueue_is_committed(hands: Hands, listener: Hand) -> None:
    client = hands()
    lease = wait(listener)
    with client.connection.transaction():
        client.add()
        assert woken(listener) == []
    assert woken(listener) == [lease]
    with client.connection.transaction(force_rollback=True):
        client.add()
    assert woken(listener) == []


@pytest.mark.parametrize("end", ["complete", "fail", "snooze", "stop", "release"])
def test_a_slot_that_comes_free_in_a_limited_queue_wakes_somebody(hand: Hand, listener: Hand, end: str) -> None:
    hand.set_queue("default", max_running=1)
    bulk(hand, 30)
    worker = hand.worker()
    job = worker.claim_one()
    lease = wait(listener)
    assert woken(listener) == []
    match end:
        case "complete":
            worker.complete(job)
        case "fail":
            worker.fail(job, final=True)
        case "snooze":
            hand.run(saying.snooze(worker.lease, [job], [60]))
        case "stop":
            hand.run(saying.stop_cancelled(worker.lease, [job]))
        case "release":
            hand.run(saying.release(worker.lease, [job]))
    assert woken(listener) == [lease]


def test_completing_in_a_queue_without_limits_wakes_nobody(hand: Hand, listener: Hand) -> None:
    hand.add()
    worker = hand.worker()
    job = worker.claim_one()
    wait(listener)
    worker.complete(job)
    assert woken(listener) == []


def test_work_that_comes_back_or_is_set_free_wakes_somebody(hand: Hand, listener: Hand) -> None:
    first = hand.add(max_attempts=1)
    dependent = hand.add(after=(first,))
    worker = hand.worker()
    job = worker.claim_one()
    lease = wait(listener)
    worker.fail(job)
    assert woken(listener) == []
    hand.run(commands.Retry([first]))
    assert woken(listener) == [lease]
    job = worker.claim_one()
    worker.complete(job)
    assert woken(listener) == [lease]
    assert worker.claim_one().id == dependent
    hand.run(commands.CloseLease(worker.lease))
    assert woken(listener) == [lease]


def test_resuming_a_queue_wakes_everybody_who_waits_for_it(hand: Hand, listener: Hand) -> None:
    hand.set_queue("default", paused=True)
    waiting = {wait(listener) for _ in range(3)}
    hand.set_queue("default", paused=False)
    assert set(woken(listener)) == waiting


def test_those_who_wait_with_a_lost_lease_are_swept_away(hand: Hand, listener: Hand) -> None:
    wait(listener)
    hand.do("delete from penstock.leases")
    hand.run(commands.Maintain())
    assert hand.value("select count(*) from penstock.waiting") == 0
