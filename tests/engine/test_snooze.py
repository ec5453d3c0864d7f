from datetime import timedelta

from penstock.engine import commands
from penstock.job import ClaimedJob, JobState
from tests.engine.hand import Hand, Worker
from tests.kit import saying


def snooze(worker: Worker, job: ClaimedJob, seconds: float) -> tuple[JobState, object]:
    [became] = worker.hand.run(saying.snooze(worker.lease, [job], [seconds]))
    assert became.id == job.id
    return became.state, became.run_at


def test_a_snooze_costs_no_attempt_and_holds_no_worker(hand: Hand) -> None:
    hand.move_clock()
    assert hand.now is not None
    id = hand.add(max_attempts=1)
    worker = hand.worker()
    for _ in range(5):
        assert snooze(worker, worker.claim_one(), 30) == (JobState.SCHEDULED, hand.now + timedelta(seconds=30))
        assert hand.value("select count(*) from penstock.jobs where state = 'running'") == 0
        hand.move_clock(seconds=30)
        hand.run(commands.Promote())
    job = worker.claim_one()
    assert (job.attempt, job.claims, job.snoozes) == (1, 6, 5)
    assert worker.complete(job) == []
    assert hand.state(id) is JobState.SUCCEEDED


def test_a_poll_that_goes_on_past_its_budget_has_failed(hand: Hand) -> None:
    id = hand.add(max_snoozes=2, max_attempts=9)
    worker = hand.worker()
    assert [snooze(worker, worker.claim_one(), 0)[0] for _ in range(3)] == [
        JobState.READY,
        JobState.READY,
        JobState.FAILED,
    ]
    job = hand.job(id)
    assert (job.snoozes, job.last_error) == (2, "still not done after 2 snoozes")


def test_the_budget_of_snoozes_is_not_the_budget_of_attempts(hand: Hand) -> None:
    id = hand.add(max_snoozes=1, max_attempts=2)
    worker = hand.worker()
    snooze(worker, worker.claim_one(), 0)
    worker.fail(worker.claim_one(), retry_in=0)
    assert (hand.job(id).attempt, hand.job(id).snoozes) == (1, 1)
    assert snooze(worker, worker.claim_one(), 0)[0] is JobState.FAILED


def test_a_job_without_snoozes_fails_at_the_first(hand: Hand) -> None:
    hand.add(max_snoozes=0)
    worker = hand.worker()
    assert snooze(worker, worker.claim_one(), 5)[0] is JobState.FAILED


def test_a_cancelled_job_does_not_snooze_on(hand: Hand) -> None:
    id = hand.add()
    worker = hand.worker()
    job = worker.claim_one()
    hand.run(commands.Cancel([id]))
    assert snooze(worker, job, 5)[0] is JobState.CANCELLED
