"""Bringing parts of flows back to life."""

from uuid import UUID

from penstock.engine import commands
from penstock.flow import Flow, batch
from penstock.job import JobState, NewJob
from tests.engine.hand import Hand, Worker
from tests.engine.invariants import check_invariants


def fail_by_kind(worker: Worker, *kinds: str) -> None:
    """Claims everything; fails these kinds, completes the others."""
    for job in worker.claim(100):
        if job.kind in kinds:
            worker.fail(job, final=True)
        else:
            worker.complete(job)


def id_of(hand: Hand, kind: str) -> UUID:
    id: UUID = hand.value("select id from penstock.all_jobs where kind = %s", kind)
    return id


def test_retrying_a_member_of_an_ended_flow_resumes_the_flow(hand: Hand) -> None:
    flow = Flow(then=NewJob(kind="last"))
    good = flow.add(NewJob(kind="good"))
    bad = flow.add(NewJob(kind="bad"), after=[good])
    flow.add(NewJob(kind="after bad"), after=[bad])
    root = hand.start(flow)
    worker = hand.worker()
    fail_by_kind(worker)
    fail_by_kind(worker, "bad")
    assert hand.state(root) is JobState.FAILED

    revived = hand.run(commands.Retry([id_of(hand, "bad")]))
    assert set(revived) == {id_of(hand, "bad"), id_of(hand, "after bad"), root}
    job = hand.job(root)
    assert (job.state, job.waiting_on, job.progress["done"], job.percent) == (JobState.BLOCKED, 2, 1, 33.33)
    assert [each.kind for each in worker.finish_all()] == ["bad", "after bad", "last"]
    assert hand.state(root) is JobState.SUCCEEDED
    assert hand.job(root).progress["percent"] == 100


def test_retrying_a_flow_brings_back_everything_in_it_that_failed(hand: Hand) -> None:
    root = hand.start(batch([NewJob(kind="good"), NewJob(kind="bad"), NewJob(kind="bad too")]))
    worker = hand.worker()
    fail_by_kind(worker, "bad", "bad too")
    assert hand.job(root).output["failed"] == 2
    hand.run(commands.Retry([id_of(hand, "bad")]))
    assert hand.job(root).waiting_on == 2
    fail_by_kind(worker)
    assert hand.job(root).output == {"total": 3, "succeeded": 3, "failed": 0, "cancelled": 0}


def test_retrying_a_failed_child_of_a_flow_at_work_adds_to_what_the_flow_waits_for(hand: Hand) -> None:
    root = hand.start(batch([NewJob(kind="bad"), NewJob(kind="slow", delay=60)]))
    worker = hand.worker()
    fail_by_kind(worker, "bad")
    assert hand.run(commands.Retry([id_of(hand, "bad")])) == [id_of(hand, "bad")]
    job = hand.job(root)
    assert (job.waiting_on, job.percent, job.progress["done"]) == (2, 0, 0)


def test_retrying_deep_inside_takes_all_flows_above_back_by_as_much(hand: Hand) -> None:
    inner = batch([NewJob(kind="bad"), NewJob(kind="slow", delay=60)])
    middle = Flow()
    middle.add(inner)
    middle.add(NewJob(kind="slow too", delay=60))
    root = hand.start(middle)
    worker = hand.worker()
    fail_by_kind(worker, "bad")
    assert hand.job(root).percent == 25
    hand.run(commands.Retry([id_of(hand, "bad")]))
    assert hand.job(root).percent == 0
    fail_by_kind(worker)
    assert hand.job(root).percent == 25


def test_a_job_that_waited_for_a_revived_flow_waits_again(hand: Hand) -> None:
    """The flow had ended in partial success, and the job was still waiting for another."""
    flow = Flow()
    half_done = flow.add(batch([NewJob(kind="good"), NewJob(kind="bad")]))
    slow = flow.add(NewJob(kind="slow", delay=60))
    flow.add(NewJob(kind="dependent"), after=[half_done, slow])
    hand.start(flow)
    worker = hand.worker()
    fail_by_kind(worker, "bad")
    dependent = id_of(hand, "dependent")
    assert hand.job(dependent).waiting_on == 1
    hand.run(commands.Retry([id_of(hand, "bad")]))
    assert hand.job(dependent).waiting_on == 2
    fail_by_kind(worker)
    assert (hand.state(dependent), hand.job(dependent).waiting_on) == (JobState.BLOCKED, 1)
    hand.move_clock(seconds=61)
    hand.run(commands.Promote())
    fail_by_kind(worker)
    assert hand.state(dependent) is JobState.READY


def test_a_flow_revived_after_its_failed_children_were_purged_ends_and_the_flow_above_too(hand: Hand) -> None:
    inner = batch([NewJob(kind="bad")])
    outer = Flow()
    outer.add(inner)
    root = hand.start(outer)
    fail_by_kind(hand.worker(), "bad")
    assert hand.state(root) is JobState.FAILED
    assert hand.run(commands.PurgeWhere({"kind": "bad"})) == 1
    hand.run(commands.Retry([root]))
    assert hand.state(root) is JobState.FAILED


def test_a_flow_whose_last_step_failed_runs_only_that_again(hand: Hand) -> None:
    flow = Flow(then=NewJob(kind="last"))
    flow.add(NewJob(kind="first"))
    root = hand.start(flow)
    worker = hand.worker()
    fail_by_kind(worker)
    fail_by_kind(worker, "last")
    assert hand.run(commands.Retry([root])) == [root]
    assert [job.kind for job in worker.finish_all()] == ["last"]


def test_retrying_a_child_while_the_flows_last_step_runs_disturbs_neither(hand: Hand) -> None:
    flow = Flow(then=NewJob(kind="last"), policy="continue")
    flow.add(NewJob(kind="bad"))
    root = hand.start(flow)
    worker = hand.worker()
    fail_by_kind(worker, "bad")
    last = worker.claim_one()
    assert hand.run(commands.Retry([id_of(hand, "bad")])) == [id_of(hand, "bad")]
    assert hand.state(root) is JobState.RUNNING
    fail_by_kind(worker)
    assert worker.complete(last) == []
    assert hand.states(root, id_of(hand, "bad")) == ["succeeded", "succeeded"]


def test_everything_that_failed_can_be_retried_though_the_key_of_one_flow_is_taken(hand: Hand) -> None:
    def flow() -> Flow:
        made = Flow(then=NewJob(kind="publish", unique_key="book 1"))
        made.add(NewJob(kind="bad"))
        return made

    worker = hand.worker()
    earlier = []
    for _ in range(2):
        earlier.append(hand.start(flow()))
        fail_by_kind(worker, "bad")
    single = hand.add("single")
    fail_by_kind(worker, "single")
    latest = hand.start(flow())
    assert hand.run(commands.RetryWhere({})) == [single]
    assert hand.states(*earlier, latest, single) == ["failed", "failed", "blocked", "ready"]


def test_who_came_to_wait_for_a_flow_that_had_partly_succeeded_is_told_when_it_ends_again(hand: Hand) -> None:
    root = hand.start(batch([NewJob(kind="good"), NewJob(kind="bad")]))
    worker = hand.worker()
    fail_by_kind(worker, "bad")
    slow = hand.add("slow", queue="slow")
    waiter = hand.add("waiter", after=[root, slow])
    hand.run(commands.Retry([id_of(hand, "bad")]))
    assert hand.job(waiter).waiting_on == 2
    check_invariants(hand)
    worker.finish_all("slow")
    assert [job.kind for job in worker.finish_all()] == ["bad", "waiter"]
