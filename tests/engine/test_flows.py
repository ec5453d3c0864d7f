"""Jobs that wait for jobs: fan-out, fan-in, a last step, batches, nesting."""

from uuid import UUID

import pytest

from penstock.engine import commands
from penstock.errors import InvalidInput
from penstock.flow import Flow, batch
from penstock.job import JobState, NewJob
from tests.engine.hand import Hand
from tests.kit import saying


def job(kind: str, **about: object) -> NewJob:
    return NewJob(kind=kind, **about)  # type: ignore[arg-type]


def child(hand: Hand, flow: UUID, kind: str) -> UUID:
    id: UUID = hand.value("select id from penstock.all_jobs where parent = %s and kind = %s", flow, kind)
    return id


def test_a_flow_fans_out_and_in_and_its_own_last_step_sees_what_came_of_it(hand: Hand) -> None:
    flow = Flow(then=job("publish"))
    parts = [flow.add(job("write", args=b'{"chapter": %d}' % n), name=f"chapter {n}") for n in (1, 2, 3)]
    flow.add(job("bind"), after=parts)
    root = hand.start(flow)
    worker = hand.worker()

    chapters = worker.claim(10)
    assert [each.kind for each in chapters] == ["write"] * 3
    assert worker.claim() == []
    assert worker.complete(*chapters, outputs=[b'"one"', b'"two"', b'"three"']) == []

    [bind] = worker.claim(10)
    assert [(each.name, each.args["chapter"], each.output) for each in worker.outputs(bind)] == [
        ("chapter 1", 1, "one"),
        ("chapter 2", 2, "two"),
        ("chapter 3", 3, "three"),
    ]
    worker.complete(bind, outputs=[b'"a book"'])

    [publish] = worker.claim(10)
    assert publish.id == root
    assert [(each.kind, each.output) for each in worker.outputs(publish)] == [
        ("write", "one"),
        ("write", "two"),
        ("write", "three"),
        ("bind", "a book"),
    ]
    worker.complete(publish, outputs=[b'"https://example.com/book"'])
    assert (hand.state(root), hand.job(root).output) == (JobState.SUCCEEDED, "https://example.com/book")


def test_a_batch_ends_by_itself_and_reports_partial_success(hand: Hand) -> None:
    root = hand.start(batch(job("export", max_attempts=1) for _ in range(3)))
    worker = hand.worker()
    first, second, third = worker.claim(3)
    worker.complete(first)
    worker.fail(second)
    assert hand.state(root) is JobState.BLOCKED
    worker.complete(third)
    ended = hand.job(root)
    assert ended.state is JobState.SUCCEEDED
    assert ended.output == {"total": 3, "succeeded": 2, "failed": 1, "cancelled": 0}


def test_a_batch_of_which_nothing_succeeded_has_failed_and_says_so(hand: Hand) -> None:
    root = hand.start(batch(job("export", max_attempts=1) for _ in range(2)))
    worker = hand.worker()
    for each in worker.claim(2):
        worker.fail(each)
    ended = hand.job(root)
    assert (ended.state, ended.output["failed"]) == (JobState.FAILED, 2)
    assert ended.last_error == "none of 2 jobs succeeded"


def test_a_failing_child_cancels_the_rest_of_its_flow(hand: Hand) -> None:
    flow = Flow(then=job("finish"))
    flow.add(job("bad", max_attempts=1))
    waiting = flow.add(job("waiting", delay=60))
    flow.add(job("later"), after=[waiting])
    flow.add(job("running"))
    root = hand.start(flow)
    worker = hand.worker()
    jobs = {each.kind: each for each in worker.claim(10)}
    worker.fail(jobs["bad"])
    kinds = ("bad", "waiting", "later", "running")
    assert hand.states(*(child(hand, root, kind) for kind in kinds)) == ["failed", "cancelled", "cancelled", "running"]
    assert hand.job(child(hand, root, "later")).last_error == "another job of its flow did not succeed"

    # the one that runs is asked to stop, and the flow waits for it
    assert hand.run(commands.ExtendLease(worker.lease)).cancelling == [jobs["running"].id]
    assert hand.state(root) is JobState.BLOCKED
    hand.run(saying.stop_cancelled(worker.lease, [jobs["running"]]))
    ended = hand.job(root)
    assert (ended.state, ended.last_error) == (JobState.FAILED, "1 of 4 jobs failed")
    assert ended.output == {"total": 4, "succeeded": 0, "failed": 1, "cancelled": 3}
    assert worker.claim() == []


def test_a_flow_may_go_on_without_the_failing_child(hand: Hand) -> None:
    flow = Flow(then=job("finish"), policy="continue")
    bad = flow.add(job("bad", max_attempts=1))
    flow.add(job("needs it"), after=[bad])
    flow.add(job("good"))
    root = hand.start(flow)
    worker = hand.worker()
    jobs = {each.kind: each for each in worker.claim(10)}
    worker.fail(jobs["bad"])
    assert hand.states(child(hand, root, "needs it"), root) == ["cancelled", "blocked"]
    worker.complete(jobs["good"])
    last = worker.claim_one()
    assert last.id == root
    assert sorted(str(each.state) for each in worker.outputs(last)) == ["cancelled", "failed", "succeeded"]
    worker.complete(last)
    assert hand.state(root) is JobState.SUCCEEDED


@pytest.mark.parametrize("outer_policy", ["cancel", "continue"])
def test_a_nested_flow_is_a_child_like_any_other(hand: Hand, outer_policy: str) -> None:
    inner = Flow(then=job("inner last"))
    inner.add(job("inner first"))
    outer = Flow(then=job("outer last"), policy=outer_policy)  # type: ignore[arg-type]
    first = outer.add(job("first"))
    nested = outer.add(inner, after=[first])
    outer.add(job("after the inner flow"), after=[nested])
    root = hand.start(outer)
    ran = hand.worker().finish_all()
    assert [each.kind for each in ran] == ["first", "inner first", "inner last", "after the inner flow", "outer last"]
    assert hand.state(root) is JobState.SUCCEEDED


@pytest.mark.parametrize(("policy", "root_ends", "last_runs"), [("cancel", "failed", False), ("continue", None, True)])
def test_a_failure_deep_inside_goes_up_as_far_as_the_policies_let_it(
    hand: Hand, policy: str, root_ends: str | None, last_runs: bool
) -> None:
    inner = Flow()
    inner.add(job("bad", max_attempts=1))
    inner.add(job("beside it"))
    outer = Flow(then=job("last"), policy=policy)  # type: ignore[arg-type]
    outer.add(inner)
    root = hand.start(outer)
    worker = hand.worker()
    jobs = {each.kind: each for each in worker.claim(10)}
    worker.complete(jobs["beside it"])
    worker.fail(jobs["bad"])
    assert hand.state(child(hand, root, "batch")) is JobState.FAILED
    assert [each.id for each in worker.claim()] == ([root] if last_runs else [])
    assert root_ends is None or hand.state(root) == root_ends


@pytest.mark.parametrize("key", ["unique_key", "idempotency_key"])
def test_a_flow_with_a_key_is_enqueued_once_with_all_its_jobs(hand: Hand, key: str) -> None:
    def flow() -> Flow:
        made = Flow(then=job("publish", **{key: "book 1"}))
        inner = Flow()
        inner.add(job("deep inside"))
        made.add(inner)
        made.add(job("write"))
        return made

    root = hand.start(flow())
    again = hand.enqueue(*flow().jobs())
    assert again[0].id == root
    assert not any(each.created for each in again)
    assert hand.value("select count(*) from penstock.jobs") == 4
    assert len(hand.worker().finish_all()) == 3
    assert (hand.start(flow()) == root) is (key == "idempotency_key")


def test_a_flow_comes_whole_or_not_at_all(hand: Hand) -> None:
    flow = Flow(then=job("publish"))
    flow.add(job("write"))
    root, child = flow.jobs()
    with pytest.raises(InvalidInput, match="has no jobs"):
        hand.enqueue(root)
    with pytest.raises(InvalidInput, match="is no flow of this call"):
        hand.enqueue(child)
    assert hand.value("select count(*) from penstock.jobs") == 0


def test_a_last_step_that_fails_for_good_fails_the_flow_and_what_waits_for_it(hand: Hand) -> None:
    flow = Flow(then=job("publish", max_attempts=1))
    flow.add(job("write"))
    root = hand.start(flow)
    dependent = hand.add("announce", after=(root,))
    worker = hand.worker()
    worker.complete(worker.claim_one())
    worker.fail(worker.claim_one())
    assert hand.states(root, dependent) == ["failed", "cancelled"]
