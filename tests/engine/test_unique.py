"""Unique keys: of all jobs of a kind that carry one, at most one is live."""

from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from penstock.errors import DuplicateKey
from penstock.job import Enqueued, JobState, NewJob
from tests.engine.conftest import Hands
from tests.engine.crowd import all_at_once, wait_until_blocked
from tests.engine.hand import Hand


def enqueue_unique(hand: Hand) -> Enqueued:
    return hand.enqueue(NewJob(kind="work", unique_key="k"))[0]


def test_two_hundred_clients_with_one_key_at_once_make_one_job_and_all_get_its_id(hands: Hands) -> None:
    crowd = [hands() for _ in range(200)]
    enqueued = all_at_once(crowd, enqueue_unique)
    assert len({each.id for each in enqueued}) == 1
    assert sum(each.created for each in enqueued) == 1
    assert crowd[0].value("select count(*) from penstock.jobs") == 1


def test_those_who_wait_for_a_transaction_that_rolls_back_make_the_job_themselves(hands: Hands) -> None:
    first, observer = hands(), hands()
    crowd = [hands() for _ in range(20)]
    with ThreadPoolExecutor(1) as thread:
        with first.connection.transaction(force_rollback=True):
            ghost = first.add(unique_key="k")
            others = thread.submit(all_at_once, crowd, enqueue_unique)
            wait_until_blocked(observer, len(crowd))
        enqueued = others.result(timeout=30)
    assert len({each.id for each in enqueued} - {ghost}) == 1
    assert sum(each.created for each in enqueued) == 1


def test_those_who_wait_for_a_transaction_that_commits_get_its_job(hands: Hands) -> None:
    first, observer = hands(), hands()
    crowd = [hands() for _ in range(5)]
    with ThreadPoolExecutor(1) as thread:
        with first.connection.transaction():
            id = first.add(unique_key="k")
            others = thread.submit(all_at_once, crowd, lambda hand: hand.add(unique_key="k"))
            wait_until_blocked(observer, len(crowd))
        assert set(others.result(timeout=30)) == {id}


@pytest.mark.parametrize("state", [JobState.READY, JobState.SCHEDULED, JobState.RUNNING, JobState.BLOCKED])
def test_a_key_is_held_in_every_live_state(hand: Hand, state: JobState) -> None:
    other = hand.add("other", delay=60)
    about: dict[JobState, dict[str, Any]] = {JobState.SCHEDULED: {"delay": 60}, JobState.BLOCKED: {"after": (other,)}}
    id = hand.add(unique_key="k", **about.get(state, {}))
    if state is JobState.RUNNING:
        hand.worker().claim_one()
    assert hand.state(id) is state
    assert hand.add(unique_key="k") == id


def test_a_finished_job_gives_its_key_free(hand: Hand) -> None:
    id = hand.add(unique_key="k")
    worker = hand.worker()
    worker.complete(worker.claim_one())
    assert hand.add(unique_key="k") != id


def test_a_key_belongs_to_a_kind(hand: Hand) -> None:
    assert hand.add("one", unique_key="k") != hand.add("two", unique_key="k")


def test_two_jobs_of_one_call_must_not_carry_one_key(hand: Hand) -> None:
    with pytest.raises(DuplicateKey, match="'k' is carried by 2 jobs"):
        hand.enqueue(NewJob(kind="work", unique_key="k"), NewJob(kind="work", unique_key="k"))


def test_a_very_long_key_is_as_good_as_a_short_one(hand: Hand) -> None:
    long = "x" * 100_000
    id = hand.add(unique_key=long)
    assert hand.add(unique_key=long) == id
    assert hand.add(unique_key=long + "y") != id


def test_a_duplicate_that_was_to_wait_leaves_no_trace(hand: Hand) -> None:
    awaited = hand.add("awaited")
    hand.add(unique_key="k")
    hand.add(unique_key="k", after=(awaited,))
    assert hand.value("select count(*) from penstock.edges") == 0
    assert len(hand.worker().finish_all()) == 2
