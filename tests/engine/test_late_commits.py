"""A job that became ready in a transaction is found as soon as that has committed, however much has come and gone
meanwhile; and so is one whose claim was undone."""

from collections.abc import Callable, Iterable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace
from typing import Any
from uuid import UUID

import pytest

from penstock.engine import commands
from penstock.job import NewJob
from tests.engine.conftest import Hands
from tests.engine.hand import Hand, Worker
from tests.engine.ways import READY, SCHEDULED, enqueue_one, new
from tests.old_snapshot import old_snapshot

QUEUES: dict[str, dict[str, Any]] = {
    "plain": {},
    "urgent": {},
    "fair": {"fair_by": "owner"},
    "limited": {"max_running": 100_000},
    "keyed": {"max_running_per_key": 100_000},
    "held": {"max_running_per_key": 200},
    "held and fair": {"max_running_per_key": 200, "fair_by": "owner"},
    "quota": {},
}
BYSTANDERS: dict[str, Callable[[str], AbstractContextManager[None]]] = {
    "nobody else": lambda _: nullcontext(),
    "an old snapshot": old_snapshot,
    "a forgotten transaction that wrote": lambda url: old_snapshot(url, writing=True),
}
BATCH = 20
ROUNDS = 5

beside = pytest.mark.parametrize("bystander", BYSTANDERS.values(), ids=BYSTANDERS)


def set_queues(hand: Hand) -> None:
    """In some of them the first jobs, of a key or an owner at its limit, wait for others of theirs."""
    hand.run(commands.SetQuota("wide", {"running": 100_000}))
    hand.run(commands.SetQuota("narrow", {"running": 1}))
    for queue, settings in QUEUES.items():
        hand.set_queue(queue, **settings)
    for queue in ("held", "held and fair"):
        hand.enqueue_many(NewJob(kind="held", queue=queue, owner="eve", limit_key="another"), 203)
    hand.enqueue_many(NewJob(kind="held", queue="quota", owner="eve", quota="narrow"), 3)
    busy = hand.worker("busy", seconds=3600)
    assert [len(busy.claim(1000, queue)) for queue in ("held", "held and fair", "quota")] == [200, 200, 1]


def let_flow(worker: Worker, rounds: int = ROUNDS, queues: Iterable[str] = QUEUES) -> None:
    """Many jobs come and go in every queue, as with busy workers of which one leads."""
    for _ in range(rounds):
        for queue in queues:
            worker.hand.enqueue_many(new(queue), BATCH)
            jobs = worker.claim(BATCH, queue)
            assert len(jobs) == BATCH
            assert worker.complete(*jobs) == []
        worker.hand.move_clock(seconds=1)
        worker.hand.run(commands.Tend(worker.lease))


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
        for way in READY:
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


@beside
def test_who_began_before_and_looks_later_hides_nobody(
    hands: Hands, url: str, bystander: Callable[[str], AbstractContextManager[None]]
) -> None:
    """A transaction that is older than the one whose commit comes late looks, too, when younger ones have looked."""
    hand, late, older = hands(), hands(), hands()
    set_queues(hand)
    worker, elder = hand.worker(seconds=3600), older.worker(seconds=3600)
    with bystander(url):
        let_flow(worker, 3)
        for queue in QUEUES:
            older.do("begin")
            older.rows("select pg_current_xact_id()")
            late.do("begin")
            job = enqueue_one(hand, late, queue)
            hand.move_clock(seconds=1)
            assert worker.claim(10, queue) == []
            older.set_clock(hand.now)
            older.move_clock(seconds=1)
            assert elder.claim(10, queue) == []
            older.do("commit")
            let_flow(worker, 2, [queue])
            late.do("commit")
            assert [each.id for each in worker.claim(10, queue)] == [job], queue


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
            hasty.run(commands.Claim(worker.lease, queue, 10))
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
            let_flow(worker, 2, [queue])
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
            let_flow(worker, 3, ["plain"])
            late.do("begin")
            jobs = {enqueue_one(hand, late, "plain"), hand.enqueue(new("plain"))[0].id}
            # whoever changes a queue waits for nobody
            hand.set_queue("plain", fair_by=fair_by)
            for _ in range(3):
                hand.move_clock(seconds=1)
                hand.run(commands.Tend(worker.lease))
            late.do("commit")
            jobs.add(hand.enqueue(new("plain"))[0].id)
            assert {job.id for job in worker.finish_all("plain")} == jobs, fair_by


@beside
def test_what_was_scheduled_is_promoted_when_it_has_committed(
    hands: Hands, url: str, bystander: Callable[[str], AbstractContextManager[None]]
) -> None:
    hand, late = hands(), hands()
    worker = hand.worker(seconds=3600)
    with bystander(url):
        for way in SCHEDULED:
            late.do("begin")
            job = way(hand, late, "plain")
            for _ in range(3):
                hand.move_clock(seconds=1)
                tended = hand.run(commands.Tend(worker.lease))
                assert (tended.leads, tended.due_in) == (True, None)
                hand.enqueue(new("plain", delay=0.5))
                hand.move_clock(seconds=1)
                hand.run(commands.Tend(worker.lease))
                worker.finish_all("plain")
            late.set_clock(hand.now)
            late.do("commit")
            hand.run(commands.Tend(worker.lease))
            assert job in {each.id for each in worker.finish_all("plain")}, way
