"""A retry while others are at work on the same jobs."""

from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from uuid import UUID

from penstock.engine import commands
from penstock.flow import batch
from penstock.job import JobState, NewJob
from tests.engine.conftest import Hands
from tests.engine.crowd import wait_until_blocked
from tests.engine.hand import Hand


@contextmanager
def retry_that_waits_for(other: Hand, hands: Hands, id: UUID) -> Iterator[Future[list[UUID]]]:
    """What `other` does inside is not committed yet when somebody retries the job."""
    hand, observer = hands(), hands()
    with ThreadPoolExecutor(1) as thread:
        with other.connection.transaction():
            retry: Future[list[UUID]] = Future()
            yield retry
            running = thread.submit(hand.run, commands.Retry([id]))
            wait_until_blocked(observer, 1)
        retry.set_result(running.result(timeout=30))


def test_two_who_retry_one_job_revive_it_once_and_do_not_take_it_from_its_worker(hands: Hands) -> None:
    hand, other = hands(), hands()
    id = hand.add(max_attempts=1)
    worker = hand.worker()
    worker.fail(worker.claim_one())
    runner = other.worker()
    with retry_that_waits_for(other, hands, id) as second:
        assert other.run(commands.Retry([id])) == [id]
        job = runner.claim_one()
    assert second.result() == []
    assert hand.state(id) is JobState.RUNNING
    assert worker.claim() == []
    assert runner.complete(job) == []


def test_a_retried_job_does_not_miss_the_success_of_what_it_waits_for(hands: Hands) -> None:
    hand, other = hands(), hands()
    bad, good = hand.add("bad", max_attempts=1), hand.add("good")
    dependent = hand.add("dependent", after=(bad, good))
    worker = other.worker()
    bad_job, good_job = worker.claim(2)
    worker.fail(bad_job)
    with retry_that_waits_for(other, hands, dependent) as retry:
        assert worker.complete(good_job) == []
    assert set(retry.result()) == {bad, dependent}
    assert hand.job(dependent).waiting_on == 1
    assert [job.kind for job in worker.finish_all()] == ["bad", "dependent"]


def test_a_retried_job_does_not_miss_the_failure_of_what_it_waits_for(hands: Hands) -> None:
    hand, other = hands(), hands()
    bad, worse = hand.add("bad", max_attempts=1), hand.add("worse", max_attempts=1)
    dependent = hand.add("dependent", after=(bad, worse))
    worker = other.worker()
    bad_job, worse_job = worker.claim(2)
    worker.fail(bad_job)
    with retry_that_waits_for(other, hands, dependent) as retry:
        worker.fail(worse_job)
    assert set(retry.result()) == {bad, worse, dependent}
    assert hand.job(dependent).waiting_on == 2
    assert [job.kind for job in worker.finish_all()] == ["worse", "bad", "dependent"]


def test_a_job_that_waits_again_does_not_miss_the_success_of_another(hands: Hands) -> None:
    hand, other = hands(), hands()
    half_done = hand.start(batch([NewJob(kind="good"), NewJob(kind="bad", max_attempts=1)]))
    slow, slower = hand.add("slow"), hand.add("slower")
    dependent = hand.add("dependent", after=(half_done, slow, slower))
    worker = other.worker()
    jobs = {job.kind: job for job in worker.claim(4)}
    worker.complete(jobs["good"])
    worker.fail(jobs["bad"])
    with retry_that_waits_for(other, hands, jobs["bad"].id) as retry:
        assert worker.complete(jobs["slow"]) == []
    assert set(retry.result()) == {jobs["bad"].id, half_done}
    assert (hand.state(dependent), hand.job(dependent).waiting_on) == (JobState.BLOCKED, 2)
    worker.complete(jobs["slower"])
    assert [job.kind for job in worker.finish_all()] == ["bad", "dependent"]


def test_a_flow_at_work_does_not_miss_a_child_that_ends_while_another_is_retried(hands: Hands) -> None:
    hand, other = hands(), hands()
    root = hand.start(batch([NewJob(kind="bad", max_attempts=1), NewJob(kind="a"), NewJob(kind="b")]))
    worker = other.worker()
    jobs = {job.kind: job for job in worker.claim(3)}
    worker.fail(jobs["bad"])
    with retry_that_waits_for(other, hands, jobs["bad"].id):
        worker.complete(jobs["a"])
    assert hand.job(root).waiting_on == 2
    worker.complete(jobs["b"])
    worker.finish_all()
    assert hand.job(root).output == {"total": 3, "succeeded": 3, "failed": 0, "cancelled": 0}
