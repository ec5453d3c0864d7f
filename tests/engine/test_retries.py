from datetime import timedelta

import pytest

from penstock.backoff import Backoff
from penstock.engine import commands
from penstock.job import JobState
from tests.engine.hand import Hand
from tests.kit import saying

STEADY = Backoff(60, jitter=0).to_json()


def test_a_failed_attempt_comes_back_when_its_backoff_is_over(hand: Hand) -> None:
    hand.move_clock()
    assert hand.now is not None
    id = hand.add(options={"backoff": STEADY})
    worker = hand.worker()
    assert worker.fail(worker.claim_one()) == (JobState.SCHEDULED, hand.now + timedelta(seconds=60))
    assert hand.run(commands.NextRunAt()) == hand.now + timedelta(seconds=60)

    hand.move_clock(seconds=59.9)
    assert hand.run(commands.Promote()) == 0
    assert worker.claim() == []
    hand.move_clock(seconds=0.1)
    assert hand.run(commands.Promote()) == 1
    claimed = worker.claim_one()
    assert (claimed.id, claimed.attempt, claimed.claims) == (id, 2, 2)


def test_a_job_that_is_given_up_has_failed_with_every_attempts_error_on_record(hand: Hand) -> None:
    id = hand.add(max_attempts=3, options={"backoff": Backoff.constant(0).to_json()})
    worker = hand.worker()
    for attempt in (1, 2, 3):
        assert hand.state(id) is JobState.READY
        worker.fail(worker.claim_one(), f"error {attempt}", type="ValueError", traceback="line 1")
    job = hand.job(id)
    assert (job.state, job.attempt) == (JobState.FAILED, 3)
    assert [(each["attempt"], each["error"], each["type"]) for each in job.errors] == [
        (attempt, f"error {attempt}", "ValueError") for attempt in (1, 2, 3)
    ]
    assert all("at" in each for each in job.errors)
    assert job.finished_at is not None
    assert worker.claim() == []


def test_a_final_failure_is_not_tried_again(hand: Hand) -> None:
    id = hand.add(max_attempts=3)
    worker = hand.worker()
    assert worker.fail(worker.claim_one(), final=True) == (JobState.FAILED, None)
    assert hand.job(id).attempt == 1


def test_a_handler_may_say_when_to_try_again(hand: Hand) -> None:
    hand.move_clock()
    assert hand.now is not None
    hand.add(options={"backoff": STEADY})
    hand.add()
    worker = hand.worker()
    first, second = worker.claim(2)
    assert worker.fail(first, retry_in=7) == (JobState.SCHEDULED, hand.now + timedelta(seconds=7))
    assert worker.fail(second, retry_in=0) == (JobState.READY, hand.now)


@pytest.mark.parametrize(("of_job", "of_queue", "expected"), [(60, 7, 60), (None, 7, 7)])
def test_a_jobs_own_backoff_comes_before_its_queues(
    hand: Hand, of_job: float | None, of_queue: float, expected: float
) -> None:
    hand.move_clock()
    assert hand.now is not None
    hand.set_queue("default", backoff=Backoff.constant(of_queue).to_json())
    hand.add(options={"backoff": Backoff.constant(of_job).to_json()} if of_job else None)
    worker = hand.worker()
    assert worker.fail(worker.claim_one())[1] == hand.now + timedelta(seconds=expected)


def test_of_very_many_errors_the_first_and_the_latest_hundred_are_kept(hand: Hand) -> None:
    id = hand.add(max_attempts=200, options={"backoff": Backoff.constant(0).to_json()})
    worker = hand.worker()
    for attempt in range(1, 151):
        worker.fail(worker.claim_one(), f"error {attempt}")
    errors = [each["attempt"] for each in hand.job(id).errors]
    assert errors == [1, *range(52, 151)]


def test_several_failures_reported_at_once_each_get_their_own_fate(hand: Hand) -> None:
    again, last = hand.add(max_attempts=2), hand.add(max_attempts=1)
    worker = hand.worker()
    jobs = worker.claim(2)
    fates = hand.run(saying.fail(worker.lease, jobs, [{"error": "a"}, {"error": "b"}]))
    assert {each.id: each.state for each in fates} == {again: JobState.SCHEDULED, last: JobState.FAILED}
    assert hand.job(last).last_error == "b"
