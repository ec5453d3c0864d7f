"""A job that became ready in a transaction is found as soon as that has committed, however much has come and gone
meanwhile; and so is one whose claim was undone."""

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace
from typing import Any
from uuid import UUID

import pytest

from penstock.engine import calls
from penstock.job import ClaimedJob, NewJob, new_job_id
from tests.engine.conftest import Hands
from tests.engine.hand import Hand, Worker
from tests.old_snapshot import old_snapshot

QUEUES: dict[str, dict[str, Any]] = {
    "plain": {},
    "urgent": {},
    "fair": {"fair_by": "owner"},
    "limited": {"max_running": 100_000},
    "keyed": {"max_running_per_key": 100_000},
    "quota": {},
}
BYSTANDERS: dict[str, Callable[[str], AbstractContextManager[None]]] = {
    "nobody else": lambda _: nullcontext(),
    "an old snapshot": old_snapshot,
    "a forgotten transaction that wrote": lambda url: old_snapshot(url, writing=True),
}
BATCH = 50
ROUNDS = 5

beside = pytest.mark.parametrize("bystander", BYSTANDERS.values(), ids=BYSTANDERS)
Way = Callable[[Hand, Hand, str], UUID]


def new(queue: str, **fields: Any) -> NewJob:
    match queue:
        case "urgent":
            return NewJob(kind="work", queue=queue, priority=-1, **fields)
        case "quota":
            return NewJob(kind="work", queue=queue, owner="ada", quota="wide", **fields)
        case _:
            return NewJob(kind="work", queue=queue, owner="ada", limit_key="key", **fields)


def claimed(hand: Hand, queue: str) -> tuple[Worker, ClaimedJob]:
    worker = hand.worker("another", seconds=3600)
    hand.enqueue(new(queue))
    return worker, worker.claim_one(queue)


# Each prepares a job with the first hand and makes it ready with the second, whose transaction goes on; its id.


def enqueue_one(_: Hand, late: Hand, queue: str) -> UUID:
    return late.enqueue(new(queue))[0].id


def enqueue_plainly(_: Hand, late: Hand, queue: str) -> UUID:
    job = new(queue)
    if queue == "quota":
        return late.enqueue(job)[0].id
    late.run(calls.enqueue_plain(job, job.id.hex, b"{}", hand=True))
    return job.id


def copy(_: Hand, late: Hand, queue: str) -> UUID:
    return late.enqueue(*[new(queue) for _ in range(20)])[0].id


def promote(hand: Hand, late: Hand, queue: str) -> UUID:
    [job] = hand.enqueue(new(queue, delay=0.001))
    late.move_clock(seconds=1)
    late.run(calls.promote())
    return job.id


def release(hand: Hand, late: Hand, queue: str) -> UUID:
    worker, job = claimed(hand, queue)
    assert late.run(calls.release(worker.lease, [job])) == [job.id]
    return job.id


def fail(hand: Hand, late: Hand, queue: str) -> UUID:
    worker, job = claimed(hand, queue)
    assert late.run(calls.fail(worker.lease, [job], [{"error": "boom", "retry_in": 0}]))
    return job.id


def snooze(hand: Hand, late: Hand, queue: str) -> UUID:
    worker, job = claimed(hand, queue)
    assert late.run(calls.snooze(worker.lease, [job], [0]))
    return job.id


def lose(hand: Hand, late: Hand, queue: str) -> UUID:
    worker, job = claimed(hand, queue)
    assert late.run(calls.expire_lease(worker.lease)) == 1
    return job.id


def retry(hand: Hand, late: Hand, queue: str) -> UUID:
    worker, job = claimed(hand, queue)
    worker.fail(job, final=True)
    assert late.run(calls.retry([job.id])) == [job.id]
    return job.id


def retry_elsewhere(hand: Hand, late: Hand, queue: str) -> UUID:
    worker, job = claimed(hand, "elsewhere")
    worker.fail(job, final=True)
    assert late.run(calls.retry([job.id], queue)) == [job.id]
    return job.id


def unpark(hand: Hand, late: Hand, queue: str) -> UUID:
    worker, job = claimed(hand, queue)
    assert hand.run(calls.park(worker.lease, [job], ["no handler"]))
    late.move_clock(seconds=2)
    late.run(calls.open_lease("it knows", kinds=["work"], queues=[queue]))
    return job.id


def unblock(hand: Hand, late: Hand, queue: str) -> UUID:
    first = new(queue)
    second = new(queue, after=(first.id,), id=new_job_id())
    hand.enqueue(first, second)
    worker = hand.worker("another", seconds=3600)
    assert late.run(calls.complete(worker.lease, [worker.claim_one(queue)])) == []
    return second.id


WAYS: list[Way] = [
    enqueue_one,
    enqueue_plainly,
    copy,
    promote,
    release,
    fail,
    snooze,
    lose,
    retry,
    retry_elsewhere,
    unpark,
    unblock,
]


def set_queues(hand: Hand) -> None:
    hand.run(calls.set_quota("wide", {"running": 100_000}))
    for queue, settings in QUEUES.items():
        hand.set_queue(queue, **settings)


def let_flow(worker: Worker, rounds: int = ROUNDS) -> None:
    """Many jobs come and go in every queue, as with busy workers of which one leads."""
    for _ in range(rounds):
        for queue in QUEUES:
            worker.hand.enqueue_many(new(queue), BATCH)
            jobs = worker.claim(BATCH, queue)
            assert len(jobs) == BATCH
            assert worker.complete(*jobs) == []
        worker.hand.move_clock(seconds=1)
        worker.hand.run(calls.tend(worker.lease))


def found_by(worker: Worker) -> set[UUID]:
    """What the next claim of each queue brings."""
    return {job.id for queue in QUEUES for job in worker.claim(1000, queue)}


@beside
def test_what_became_ready_is_found_when_it_has_committed(
    hands: Hands, url: str, bystander: Callable[[str], AbstractContextManager[None]]
) -> None:
    hand = hands()
    set_queues(hand)
    worker = hand.worker(seconds=3600)
    with bystander(url):
        late: dict[UUID, tuple[str, str]] = {}
        open_ones: list[Hand] = []
        for way in WAYS:
            open_ones.append(hands())
            open_ones[-1].do("begin")
            for queue in QUEUES:
                late[way(hand, open_ones[-1], queue)] = (way.__name__, queue)
        let_flow(worker)
        for each in open_ones:
            each.do("commit")
        found = found_by(worker)
    missing = [about for id, about in late.items() if id not in found]
    assert not missing, missing


def test_what_is_enqueued_under_an_old_snapshot_is_found(hands: Hands) -> None:
    """Such a transaction sees nothing of what was claimed since it began."""
    hand, late = hands(), hands()
    set_queues(hand)
    worker = hand.worker(seconds=3600)
    let_flow(worker, 1)
    late.do("begin isolation level repeatable read")
    late.rows("select count(*) from penstock.jobs")
    let_flow(worker)
    # for an owner who has had none yet: of what others have written since, such a transaction may write nothing
    jobs = {queue: late.enqueue(replace(new(queue), owner="bob"))[0].id for queue in QUEUES}
    late.do("commit")
    found = found_by(worker)
    assert [queue for queue, id in jobs.items() if id not in found] == []


@beside
def test_what_was_claimed_in_vain_is_found_again(
    hands: Hands, url: str, bystander: Callable[[str], AbstractContextManager[None]]
) -> None:
    hand = hands()
    set_queues(hand)
    worker, hasty = hand.worker(seconds=3600), hands()
    let_flow(worker, 1)
    with bystander(url):
        # of queues with limits one claims at a time
        jobs = [hand.enqueue(new(queue))[0].id for queue in ("plain", "urgent", "fair")]
        hasty.do("begin")
        for queue in ("plain", "urgent", "fair"):
            hasty.run(calls.claim(worker.lease, queue, 10))
        let_flow(worker)
        hasty.do("rollback")
        assert found_by(worker) == set(jobs)


@beside
def test_what_the_newest_transaction_made_ready_is_found_when_it_has_committed(
    hands: Hands, url: str, bystander: Callable[[str], AbstractContextManager[None]]
) -> None:
    """While it is open, no later one has ended when others begin to look."""
    hand, late = hands(), hands()
    set_queues(hand)
    worker = hand.worker(seconds=3600)
    with bystander(url):
        let_flow(worker, 3)
        for queue in QUEUES:
            late.do("begin")
            job = enqueue_one(hand, late, queue)
            for _ in range(3):
                hand.move_clock(seconds=1)
                assert worker.claim(10, queue) == []
            let_flow(worker, 2)
            late.do("commit")
            assert [each.id for each in worker.claim(10, queue)] == [job], queue


@beside
def test_a_queue_that_becomes_fair_and_is_no_more_loses_nobody(
    hands: Hands, url: str, bystander: Callable[[str], AbstractContextManager[None]]
) -> None:
    hand, late = hands(), hands()
    set_queues(hand)
    worker = hand.worker(seconds=3600)
    with bystander(url):
        for fair_by in ("owner", None, "limit_key", None):
            let_flow(worker, 3)
            late.do("begin")
            jobs = {enqueue_one(hand, late, "plain"), hand.enqueue(new("plain"))[0].id}
            # whoever changes a queue waits for nobody
            hand.set_queue("plain", fair_by=fair_by)
            for _ in range(3):
                hand.move_clock(seconds=1)
                hand.run(calls.tend(worker.lease))
            late.do("commit")
            jobs.add(hand.enqueue(new("plain"))[0].id)
            assert {job.id for job in worker.finish_all("plain")} == jobs, fair_by


def schedule(_: Hand, late: Hand, queue: str) -> UUID:
    return late.enqueue(new(queue, delay=0.5))[0].id


def schedule_plainly(_: Hand, late: Hand, queue: str) -> UUID:
    job = new(queue, delay=0.5)
    late.run(calls.enqueue_plain(job, job.id.hex, b"{}"))
    return job.id


def schedule_many(_: Hand, late: Hand, queue: str) -> UUID:
    return late.enqueue(*[new(queue, delay=0.5) for _ in range(20)])[0].id


def back_off(hand: Hand, late: Hand, queue: str) -> UUID:
    worker, job = claimed(hand, queue)
    assert late.run(calls.fail(worker.lease, [job], [{"error": "boom", "retry_in": 0.5}]))
    return job.id


def poll(hand: Hand, late: Hand, queue: str) -> UUID:
    worker, job = claimed(hand, queue)
    assert late.run(calls.snooze(worker.lease, [job], [0.5]))
    return job.id


@beside
def test_what_was_scheduled_is_promoted_when_it_has_committed(
    hands: Hands, url: str, bystander: Callable[[str], AbstractContextManager[None]]
) -> None:
    hand, late = hands(), hands()
    worker = hand.worker(seconds=3600)
    with bystander(url):
        for way in (schedule, schedule_plainly, schedule_many, back_off, poll):
            late.do("begin")
            job = way(hand, late, "plain")
            for _ in range(3):
                hand.move_clock(seconds=1)
                assert hand.run(calls.tend(worker.lease)) == (True, None)
                hand.enqueue(new("plain", delay=0.5))
                hand.move_clock(seconds=1)
                hand.run(calls.tend(worker.lease))
                worker.finish_all("plain")
            late.set_clock(hand.now)
            late.do("commit")
            hand.run(calls.tend(worker.lease))
            assert job in {each.id for each in worker.finish_all("plain")}, way
