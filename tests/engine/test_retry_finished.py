"""What an operator does with finished jobs: retry, requeue, purge, one or by filter."""

from typing import Any
from uuid import UUID

import pytest

from penstock.engine import commands
from penstock.errors import InvalidInput, UniqueKeyTaken
from penstock.flow import Flow, batch
from penstock.job import JobState, NewJob
from tests.engine.conftest import Hands
from tests.engine.hand import Hand, Worker
from tests.kit import saying


def failed(worker: Worker, **about: Any) -> UUID:
    id = worker.hand.add(max_attempts=1, **about)
    worker.fail(worker.claim_one())
    return id


def test_a_retried_job_has_a_fresh_budget_and_keeps_its_errors(hand: Hand) -> None:
    worker = hand.worker()
    id = hand.add(max_attempts=1, max_snoozes=3)
    job = worker.claim_one()
    worker.progress(job, 80)
    worker.fail(job, "first life")
    assert hand.run(commands.Retry([id])) == [id]
    back = hand.job(id)
    assert (back.state, back.attempt, back.progress) == (JobState.READY, 0, {})
    again = worker.claim_one()
    assert again.claims == 2
    worker.fail(again, "second life")
    assert [each["error"] for each in hand.job(id).errors] == ["first life", "second life"]


def test_an_outcome_of_the_first_life_is_refused_in_the_second(hand: Hand) -> None:
    worker = hand.worker()
    id = hand.add(max_attempts=1)
    first = worker.claim_one()
    worker.fail(first)
    hand.run(commands.Retry([id]))
    worker.claim_one()
    assert worker.complete(first) == [id]


def test_only_what_did_not_succeed_can_be_retried(hand: Hand) -> None:
    worker = hand.worker()
    done, live = hand.add(), hand.add(delay=60)
    worker.complete(worker.claim_one())
    assert hand.run(commands.Retry([done, live])) == []
    cancelled = hand.add()
    hand.run(commands.Cancel([cancelled]))
    assert hand.run(commands.Retry([cancelled])) == [cancelled]


def test_a_job_can_be_moved_to_another_queue(hand: Hand) -> None:
    worker = hand.worker()
    id = failed(worker)
    assert hand.run(commands.Retry([id], "repairs")) == [id]
    assert worker.claim() == []
    assert worker.claim_one("repairs").id == id


def test_a_job_moved_out_of_a_fair_queue_stands_in_line_there_without_its_old_turn(hand: Hand) -> None:
    hand.set_queue("fair", fair_by="org")
    worker = hand.worker()
    for _ in range(3):
        hand.add(queue="fair", org="a")
        last = hand.add(queue="fair", org="a", max_attempts=1)
        worker.complete(worker.claim_one("fair"))
        worker.fail(worker.claim_one("fair"))
    younger = hand.add(queue="default")
    hand.run(commands.Retry([last], "default"))
    assert [job.id for job in worker.claim(2)] == [younger, last]


def test_a_retry_is_refused_while_another_job_holds_the_unique_key(hand: Hand) -> None:
    worker = hand.worker()
    id = hand.add(unique_key="k", max_attempts=1)
    worker.fail(worker.claim_one())
    holder = hand.add(unique_key="k")
    with pytest.raises(UniqueKeyTaken, match="another work holds it"):
        hand.run(commands.Retry([id]))
    assert hand.states(id, holder) == ["failed", "ready"]
    worker.complete(worker.claim_one())
    assert hand.run(commands.Retry([id])) == [id]


def test_an_enqueue_under_way_with_the_same_key_makes_the_retry_wait_and_then_refuse(hands: Hands) -> None:
    hand, client = hands(), hands()
    worker = hand.worker()
    id = hand.add(unique_key="k", max_attempts=1)
    worker.fail(worker.claim_one())
    with client.connection.transaction():
        client.add(unique_key="k")
        hand.do("set lock_timeout = '200ms'")
        with pytest.raises(Exception, match="lock timeout"):
            hand.run(commands.Retry([id]))
    with pytest.raises(UniqueKeyTaken):
        hand.run(commands.Retry([id]))


def test_jobs_are_retried_by_filter(hand: Hand) -> None:
    worker = hand.worker()
    mine, other = failed(worker, owner="ada", kind="mail"), failed(worker, owner="bob", kind="mail")
    cancelled = hand.add(owner="ada")
    hand.run(commands.Cancel([cancelled]))
    assert hand.run(commands.RetryWhere({"owner": "ada"}, "repairs")) == [mine]
    assert hand.run(commands.RetryWhere({"state": "cancelled"})) == [cancelled]
    assert hand.states(other) == ["failed"]
    with pytest.raises(InvalidInput, match="colour: no such filter of jobs"):
        hand.run(commands.RetryWhere({"colour": "red"}))


def test_of_several_jobs_with_one_unique_key_a_filter_retries_the_latest(hand: Hand) -> None:
    worker = hand.worker()
    ids = []
    for _ in range(3):
        ids.append(hand.add(unique_key="k", max_attempts=1))
        worker.fail(worker.claim_one())
    assert hand.run(commands.RetryWhere({})) == [ids[-1]]


def test_jobs_are_purged_one_or_by_filter_with_their_steps(hand: Hand) -> None:
    worker = hand.worker()
    id = hand.add(max_attempts=1)
    job = worker.claim_one()
    hand.run(saying.remember_step(worker.lease, job, "load", b"1"))
    worker.fail(job)
    kept = failed(worker, kind="other")
    done, live = hand.add(), hand.add(delay=60)
    worker.complete(worker.claim_one())
    assert hand.run(commands.PurgeWhere({"ids": [done, live]})) == 0
    assert hand.run(commands.PurgeWhere({"ids": [id]})) == 1
    assert hand.run(commands.GetJob(id)) is None
    assert hand.value("select count(*) from penstock.steps") == 0
    assert hand.run(commands.PurgeWhere({"kind": "work", "state": ["succeeded", "failed"]})) == 1
    assert hand.states(kept, live) == ["failed", "scheduled"]


def test_what_a_live_job_counts_on_is_not_purged(hand: Hand) -> None:
    flow = Flow(then=NewJob(kind="last"))
    flow.add(NewJob(kind="first"))
    root = hand.start(flow)
    running = hand.start(batch([NewJob(kind="bad", max_attempts=1), NewJob(kind="slow", delay=60)]))
    alone = hand.add("alone")
    waiting = hand.add("waiting", after=(alone, hand.add("slow", delay=60)))
    worker = hand.worker()
    for job in worker.claim(10):
        if job.kind == "bad":
            worker.fail(job)
        else:
            worker.complete(job)
    everything = {"state": ["succeeded", "failed", "cancelled"]}
    assert hand.run(commands.PurgeWhere(everything)) == 0
    last = worker.claim_one()
    assert last.id == root
    assert [each.kind for each in worker.outputs(last)] == ["first"]
    waited_for = "select h.kind from penstock.edges join penstock.history as h on h.id = waits_for where job = %s"
    assert hand.rows(waited_for, waiting) == [("alone",)]
    hand.run(saying.release(worker.lease, [last]))
    hand.run(commands.Cancel([root, running, waiting]))
    assert hand.run(commands.PurgeWhere(everything)) == 7
