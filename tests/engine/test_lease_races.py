"""Who is heard of, who is given up and who leads, when two say so at once."""

from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor

import pytest

from penstock.engine import commands
from penstock.job import JobState
from tests.engine.conftest import Hands
from tests.engine.crowd import wait_until_blocked
from tests.engine.hand import Hand


@pytest.fixture
def pool() -> Iterator[ThreadPoolExecutor]:
    with ThreadPoolExecutor(1) as threads:
        yield threads


def heartbeats(hand: Hand) -> int:
    return int(hand.value("select count(*) from penstock.heartbeats"))


def test_who_is_heard_of_at_the_last_moment_keeps_its_jobs(hands: Hands) -> None:
    hand, other = hands(), hands()
    id = hand.add()
    worker = hand.worker(seconds=30)
    worker.claim_one()
    hand.move_clock(seconds=29)
    other.move_clock(seconds=31)
    with hand.connection.transaction():
        assert hand.run(commands.ExtendLease(worker.lease)).alive
        assert other.run(commands.Reclaim()) == 0
    assert other.run(commands.Reclaim()) == 0
    assert (other.state(id), heartbeats(hand)) == (JobState.RUNNING, 1)


def test_who_is_being_given_up_is_not_heard_of_any_more(hands: Hands, pool: ThreadPoolExecutor) -> None:
    hand, other, observer = hands(), hands(), hands()
    id = hand.add()
    worker = hand.worker(seconds=30)
    worker.claim_one()
    other.move_clock(seconds=31)
    with other.connection.transaction():
        assert other.run(commands.Reclaim()) == 1
        extended = pool.submit(hand.run, commands.ExtendLease(worker.lease))
        wait_until_blocked(observer, 1)
    assert not extended.result().alive
    assert (other.state(id), heartbeats(hand)) == (JobState.READY, 0)


@pytest.mark.parametrize("kept", [True, False], ids=["commits", "rolls back"])
def test_of_two_that_take_the_lead_at_once_one_has_it(hands: Hands, pool: ThreadPoolExecutor, kept: bool) -> None:
    hand, other, observer = hands(), hands(), hands()
    first, second = hand.worker("first"), other.worker("second")
    leads: Future[commands.Extended]
    with hand.connection.transaction(force_rollback=not kept):
        assert hand.run(commands.ExtendLease(first.lease)).leads
        leads = pool.submit(other.run, commands.ExtendLease(second.lease))
        wait_until_blocked(observer, 1)
    assert leads.result().leads is not kept
    assert hand.rows("select lease from penstock.leader") == [(first.lease if kept else second.lease,)]


def test_who_says_twice_at_once_that_it_lives_and_leads_does_both_times(hands: Hands, pool: ThreadPoolExecutor) -> None:
    hand, other, observer = hands(), hands(), hands()
    worker = hand.worker()
    with hand.connection.transaction():
        assert hand.run(commands.ExtendLease(worker.lease)).leads
        again = pool.submit(other.run, commands.ExtendLease(worker.lease))
        wait_until_blocked(observer, 1)
    assert (again.result().alive, again.result().leads) == (True, True)
    assert (heartbeats(hand), hand.value("select count(*) from penstock.leader")) == (1, 1)


def test_who_leaves_gives_up_the_lead(hand: Hand) -> None:
    first, second = hand.worker("first"), hand.worker("second")
    assert hand.run(commands.ExtendLease(first.lease)).leads
    assert not hand.run(commands.ExtendLease(second.lease)).leads
    hand.run(commands.CloseLease(first.lease))
    assert hand.run(commands.ExtendLease(second.lease)).leads


@pytest.mark.parametrize("end", [commands.CloseLease, commands.ExpireLease], ids=["leaves", "is lost"])
def test_a_worker_that_goes_gives_back_what_it_has_run_for_long(
    hand: Hand, end: type[commands.CloseLease] | type[commands.ExpireLease]
) -> None:
    """The floor of time is past the start of one of its jobs, and before that of the other."""
    long = hand.add()
    worker = hand.worker(seconds=3600)
    worker.claim_one()
    for _ in range(4):
        hand.let_others_end()
        hand.move_clock(seconds=1)
        hand.run(commands.Tend(worker.lease))
    assert hand.value("select (penstock.time_floor()).started_before") == [long]
    short = hand.add()
    worker.claim_one()
    assert hand.run(end(worker.lease)) == 2
    assert hand.states(long, short) == ["ready", "ready"]
