"""A database's clock that goes back: it was set right, or a replica took over whose clock is behind. What was noted by
the earlier times is forgotten, and nothing is overlooked meanwhile."""

import pytest

from penstock.engine import commands
from penstock.job import JobState
from tests.engine.hand import Hand, Worker


def run_ahead(hand: Hand, worker: Worker) -> None:
    """The floors of time are raised by a clock that is a minute ahead; then it is set right."""
    hand.move_clock(seconds=60)
    for _ in range(4):
        hand.let_others_end()
        hand.move_clock(seconds=1)
        hand.run(commands.ExtendLease(worker.lease))
        hand.run(commands.Tend(worker.lease))
    hand.set_clock(None)


@pytest.mark.parametrize("tended", [False, True], ids=["at once", "after a second"])
def test_a_limit_is_kept(hand: Hand, tended: bool) -> None:
    hand.set_queue("default", max_running=1)
    worker = hand.worker(seconds=3600)
    run_ahead(hand, worker)
    for _ in range(2):
        hand.add()
    assert len(worker.claim(2)) == 1
    if tended:
        hand.move_clock(seconds=1)
        hand.run(commands.Tend(worker.lease))
    assert worker.claim(2) == []
    hand.move_clock(seconds=90)  # past the time that was noted
    for _ in range(4):
        hand.move_clock(seconds=1)
        assert worker.claim(2) == []


def test_what_is_scheduled_comes_due(hand: Hand) -> None:
    worker = hand.worker(seconds=3600)
    run_ahead(hand, worker)
    id = hand.add(delay=5)
    assert hand.run(commands.NextRunAt()) is not None
    hand.move_clock(seconds=6)
    hand.run(commands.Tend(worker.lease))
    assert hand.state(id) is JobState.READY


def test_the_jobs_of_a_lost_worker_go_back(hand: Hand) -> None:
    run_ahead(hand, hand.worker(seconds=3600))
    lost = hand.worker("lost", seconds=10)
    id = hand.add()
    lost.claim_one()
    hand.move_clock(seconds=11)
    assert hand.run(commands.Reclaim()) == 1
    assert hand.state(id) is JobState.READY
