"""Durable steps: what a handler has done once, its next attempt does not do again."""

from penstock.engine import commands
from penstock.job import JobState
from tests.engine.hand import Hand
from tests.kit import saying


def test_a_remembered_step_is_recalled_by_the_next_attempt(hand: Hand) -> None:
    hand.add()
    worker = hand.worker()
    job = worker.claim_one()
    assert hand.run(saying.remember_step(worker.lease, job, "load", b'{"rows": 3}'))
    assert hand.run(saying.remember_step(worker.lease, job, "nothing came of it", b"null"))
    worker.fail(job, retry_in=0)
    assert worker.steps(worker.claim_one()) == {"load": {"rows": 3}, "nothing came of it": None}


def test_steps_survive_giving_up_and_an_operators_retry(hand: Hand) -> None:
    id = hand.add(max_attempts=1)
    worker = hand.worker()
    job = worker.claim_one()
    hand.run(saying.remember_step(worker.lease, job, "load", b"1"))
    worker.fail(job)
    hand.run(commands.Retry([id]))
    assert worker.steps(worker.claim_one()) == {"load": 1}


def test_a_step_done_twice_keeps_the_later_result(hand: Hand) -> None:
    hand.add()
    worker = hand.worker()
    job = worker.claim_one()
    hand.run(saying.remember_step(worker.lease, job, "load", b"1"))
    hand.run(saying.remember_step(worker.lease, job, "load", b"2"))
    assert worker.steps(job) == {"load": 2}


def test_a_worker_that_lost_the_job_cannot_remember_steps_for_it(hand: Hand) -> None:
    hand.add()
    late = hand.worker("late")
    lost = late.claim_one()
    hand.move_clock(seconds=31)
    hand.run(commands.Reclaim())
    heir = hand.worker("heir")
    job = heir.claim_one()
    assert hand.run(saying.remember_step(heir.lease, job, "load", b'"mine"'))
    assert not hand.run(saying.remember_step(late.lease, lost, "load", b'"late"'))
    assert not hand.run(saying.remember_step(heir.lease, lost, "load", b'"earlier claim"'))
    assert heir.steps(job) == {"load": "mine"}


def test_steps_are_a_jobs_own(hand: Hand) -> None:
    one, two = hand.add(), hand.add()
    worker = hand.worker()
    jobs = {job.id: job for job in worker.claim(2)}
    for job in jobs.values():
        hand.run(saying.remember_step(worker.lease, job, "load", b'"%s"' % str(job.id).encode()))
    assert worker.steps(jobs[one]) == {"load": str(one)}
    assert worker.steps(jobs[two]) == {"load": str(two)}
    assert hand.states(one, two) == [JobState.RUNNING] * 2
