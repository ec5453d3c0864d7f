"""Fair queues: one tenant's backlog, however long, delays no other tenant by more than a turn."""

from uuid import UUID

import pytest

from penstock.engine import commands
from tests.engine.conftest import Hands
from tests.engine.hand import Hand, Worker
from tests.engine.test_limits import bulk
from tests.kit import saying

BATCH = 10


@pytest.fixture
def fair(hand: Hand) -> Hand:
    hand.set_queue("default", fair_by="org")
    return hand


def run(worker: Worker, jobs: int, batch: int = BATCH) -> list[str | None]:
    """Claims and completes so many jobs; whose they were, in the order they ran."""
    ran: list[str | None] = []
    while len(ran) < jobs and (claimed := worker.claim(batch)):
        ran += [job.org for job in claimed]
        worker.complete(*claimed)
    return ran


@pytest.mark.parametrize("ahead", [0, 137])
def test_ten_jobs_behind_five_thousand_of_another_tenant_run_among_the_first(fair: Hand, ahead: int) -> None:
    bulk(fair, 5_000, org="a")
    worker = fair.worker()
    run(worker, ahead)
    for _ in range(10):
        fair.add(org="b")
    ran = run(worker, 2 * 10 + BATCH)
    assert ran.count("b") == 10


@pytest.mark.parametrize("at_once", [True, False])
def test_two_tenants_alternate(fair: Hand, at_once: bool) -> None:
    for org in ("a", "b"):
        if at_once:
            bulk(fair, 50, org=org)
        else:
            for _ in range(50):
                fair.add(org=org)
    ran = run(fair.worker(), 60)
    assert all({"a", "b"} == set(ran[place : place + 2]) for place in range(0, 60, 2))


def test_a_tenant_who_was_idle_is_owed_nothing(fair: Hand) -> None:
    bulk(fair, 300, org="a")
    worker = fair.worker()
    run(worker, 200)
    bulk(fair, 100, org="b")
    ran = run(worker, 40)
    assert 15 <= ran.count("a") <= 25


def test_jobs_without_a_tenant_are_a_tenant_together(fair: Hand) -> None:
    bulk(fair, 1_000, org="a")
    for _ in range(5):
        fair.add()
    assert run(fair.worker(), 2 * 5 + BATCH).count(None) == 5


def test_urgent_jobs_come_first_all_the_same(fair: Hand) -> None:
    bulk(fair, 100, org="a")
    bulk(fair, 20, org="b", priority=1)
    assert run(fair.worker(), 20) == ["b"] * 20


@pytest.mark.parametrize("by", ["owner", "org", "limit_key"])
def test_a_queue_is_fair_by_owner_org_or_limit_key(hand: Hand, by: str) -> None:
    hand.set_queue("default", fair_by=by)
    bulk(hand, 200, **{by: "a"})
    late = {hand.add(**{by: "b"}) for _ in range(3)}
    worker = hand.worker()
    assert late < {job.id for job in worker.claim(2 * 3 + 1)}


def test_retrying_a_backlog_does_not_put_it_before_everybody_else(fair: Hand) -> None:
    bulk(fair, 200, org="a", max_attempts=1)
    worker = fair.worker()
    for job in worker.claim(200):
        worker.fail(job)
    bulk(fair, 100, org="b")
    assert len(fair.run(commands.RetryWhere({}))) == 200
    assert 15 <= run(worker, 40).count("b") <= 25


@pytest.mark.parametrize("seconds", [0.0, 5.0])
def test_polls_of_a_tenant_take_turns_and_the_one_that_waits_longest_comes_first(fair: Hand, seconds: float) -> None:
    """More of them than can be looked at in the time between two looks."""
    polls = [fair.add(org="a", max_snoozes=100) for _ in range(6)]
    worker = fair.worker(seconds=1000)
    looked: list[UUID] = []
    for _ in range(9):
        claimed = worker.claim(2)
        looked += sorted(job.id for job in claimed)
        for job in claimed:
            fair.run(saying.snooze(worker.lease, [job], [seconds]))
        fair.move_clock(seconds=seconds)
        fair.run(commands.Promote())
    assert [sorted(looked[place : place + 6]) for place in (0, 6, 12)] == [sorted(polls)] * 3


def test_a_job_that_is_tried_again_at_once_lets_others_of_its_tenant_go_first(fair: Hand) -> None:
    first, second = fair.add(org="a"), fair.add(org="a")
    worker = fair.worker()
    failed = worker.claim_one()
    assert failed.id == first
    worker.fail(failed, retry_in=0.0)
    assert [worker.claim_one().id, worker.claim_one().id] == [second, first]


def test_delayed_jobs_that_come_due_do_not_go_before_everybody_else(fair: Hand) -> None:
    for _ in range(40):
        fair.add(org="a", delay=60.0)
    worker = fair.worker(seconds=1000)
    bulk(fair, 100, org="b")
    run(worker, 50)
    fair.move_clock(seconds=61)
    fair.run(commands.Promote())
    assert run(worker, 20).count("b") >= 9


def test_a_queue_that_is_no_longer_fair_goes_by_age_again(fair: Hand) -> None:
    old = [fair.add(org="a") for _ in range(20)]
    fair.set_queue("default", fair_by=None)
    young = [fair.add(org="b") for _ in range(5)]
    assert [job.id for job in fair.worker().claim(100)] == old + young


def test_an_enqueue_in_a_long_open_transaction_blocks_no_other_of_the_same_tenant(hands: Hands) -> None:
    slow, quick = hands(), hands()
    slow.set_queue("default", fair_by="org")
    quick.do("set statement_timeout = '5s'")
    with slow.connection.transaction():
        slow.add(org="a")
        quick.add(org="a")
        bulk(quick, 50, org="a")
        assert len(quick.worker().claim(100)) == 51
    assert len(quick.worker().claim(100)) == 1


def test_an_enqueue_in_a_long_open_transaction_does_not_hold_up_maintenance(hands: Hands) -> None:
    slow, quick = hands(), hands()
    slow.set_queue("default", fair_by="org")
    slow.add(org="a")
    for _ in range(10):
        slow.add(org="b")
    quick.worker().claim(100)
    quick.do("set statement_timeout = '5s'")
    with slow.connection.transaction():
        slow.add(org="a")
        assert quick.run(commands.Maintain()) is not None


def test_turns_that_were_served_are_swept_away(fair: Hand) -> None:
    fair.add(org="a")
    for _ in range(10):
        fair.add(org="b")
    fair.worker().claim(100)
    fair.run(commands.Maintain())
    assert [key for (key,) in fair.rows("select key from penstock.turns order by key")] == ["", "b"]
