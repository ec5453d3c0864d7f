"""Jobs that wait for jobs outside of flows."""

import pytest

from penstock.engine import commands
from penstock.errors import InvalidInput, UnknownJob
from penstock.job import JobState, NewJob
from tests.engine.conftest import Hands
from tests.engine.hand import Hand
from tests.kit import saying


def test_a_job_starts_when_everything_it_waits_for_has_succeeded(hand: Hand) -> None:
    first, second = hand.add(), hand.add()
    dependent = hand.add(after=(first, second))
    worker = hand.worker()
    one, two = worker.claim(10)
    worker.complete(one, outputs=[b"1"])
    assert (hand.state(dependent), hand.job(dependent).waiting_on) == (JobState.BLOCKED, 1)
    worker.complete(two, outputs=[b"2"])
    job = worker.claim_one()
    assert job.id == dependent
    assert [each.output for each in worker.outputs(job)] == [1, 2]


def test_a_job_may_wait_for_one_that_has_succeeded_already(hand: Hand) -> None:
    done = hand.add()
    worker = hand.worker()
    worker.complete(worker.claim_one(), outputs=[b'"there"'])
    dependent = hand.add(after=(done,))
    job = worker.claim_one()
    assert job.id == dependent
    assert worker.outputs(job)[0].output == "there"


@pytest.mark.parametrize("state", ["failed", "cancelled"])
def test_waiting_for_one_that_did_not_succeed_is_refused(hand: Hand, state: str) -> None:
    id = hand.add(max_attempts=1)
    worker = hand.worker()
    job = worker.claim_one()
    if state == "failed":
        worker.fail(job)
    else:
        hand.run(saying.stop_cancelled(worker.lease, [job]))
    with pytest.raises(InvalidInput, match=f"{id} has {state} already") as refused:
        hand.add(after=(id,))
    assert refused.value.field == "after"
    assert hand.value("select count(*) from penstock.jobs") == 0


def test_waiting_for_an_unknown_job_is_refused(hand: Hand) -> None:
    with pytest.raises(UnknownJob, match="does not exist"):
        hand.add(after=(NewJob(kind="never enqueued").id,))
    assert hand.value("select count(*) from penstock.jobs") == 0


def test_what_waits_for_a_failed_job_is_cancelled_down_the_line(hand: Hand) -> None:
    first = hand.add(max_attempts=1)
    second = hand.add(after=(first,))
    third = hand.add(after=(second,))
    worker = hand.worker()
    worker.fail(worker.claim_one())
    assert hand.states(first, second, third) == ["failed", "cancelled", "cancelled"]
    assert hand.job(third).last_error == "a job it waited for did not succeed"


@pytest.mark.parametrize("place", [0, 1, 2])
def test_retrying_one_brings_back_what_it_waited_for_and_what_was_cancelled_with_it(hand: Hand, place: int) -> None:
    first = hand.add("first", max_attempts=1)
    second = hand.add("second", after=(first,))
    third = hand.add("third", after=(second,))
    worker = hand.worker()
    worker.fail(worker.claim_one())
    chain = [first, second, third]
    assert hand.run(commands.Retry([chain[place]])) == chain
    assert [job.kind for job in worker.finish_all()] == ["first", "second", "third"]


def test_a_retried_job_waits_for_what_still_runs_of_the_things_it_waited_for(hand: Hand) -> None:
    bad, slow = hand.add("bad", max_attempts=1), hand.add("slow")
    dependent = hand.add("dependent", after=(bad, slow))
    worker = hand.worker()
    bad_job, slow_job = worker.claim(2)
    worker.fail(bad_job)
    assert set(hand.run(commands.Retry([dependent]))) == {bad, dependent}
    worker.complete(worker.claim_one())
    assert hand.job(dependent).waiting_on == 1
    worker.complete(slow_job)
    assert worker.claim_one().id == dependent


def test_a_job_that_waits_and_has_a_time_starts_when_both_are_over(hand: Hand) -> None:
    first = hand.add()
    dependent = hand.add(after=(first,), delay=60)
    worker = hand.worker()
    worker.complete(worker.claim_one())
    assert hand.state(dependent) is JobState.SCHEDULED
    hand.move_clock(seconds=61)
    hand.run(commands.Promote())
    assert hand.state(dependent) is JobState.READY


@pytest.mark.parametrize("others_wait_already", [False, True])
def test_a_completion_waits_for_an_enqueue_that_names_the_job(hands: Hands, others_wait_already: bool) -> None:
    """Otherwise it would miss the edge that is not committed yet, and the dependent would wait for ever."""
    client, completer = hands(), hands()
    first = client.add()
    if others_wait_already:
        client.add(after=(first,))
    worker = completer.worker()
    job = worker.claim_one()
    with client.connection.transaction():
        dependent = client.add(after=(first,))
        completer.do("set lock_timeout = '200ms'")
        with pytest.raises(Exception, match="lock timeout"):
            worker.complete(job)
    assert worker.complete(job) == []
    assert client.state(dependent) is JobState.READY


def test_an_enqueue_that_rolls_back_leaves_nobody_waiting(hands: Hands) -> None:
    hand, client = hands(), hands()
    first = hand.add()
    with client.connection.transaction(force_rollback=True):
        client.add(after=(first,))
    worker = hand.worker()
    assert worker.complete(worker.claim_one()) == []
    assert hand.value("select count(*) from penstock.edges") == 0
