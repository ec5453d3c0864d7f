"""What progress says of jobs and flows that failed, were cancelled, or are tried again."""

from typing import Any

import pytest

from penstock.engine import commands
from penstock.flow import Flow
from penstock.job import NewJob
from tests.engine.hand import Hand
from tests.kit import saying

READINGS = {"calculating": (0, 10), "text": (10, 50), "pdf": (50, 70), "audio": (70, 95)}


def reading(parts: int = 4, policy: Any = "cancel") -> Flow:
    flow = Flow(then=NewJob(kind="bind", max_attempts=1), phases=READINGS, policy=policy)
    chart = flow.add(NewJob(kind="chart"), phase="calculating")
    for part in range(parts):
        text = flow.add(NewJob(kind="text", max_attempts=1), phase="text", after=[chart], part=str(part))
        pdf = flow.add(NewJob(kind="pdf"), phase="pdf", after=[text], part=str(part))
        flow.add(NewJob(kind="audio"), phase="audio", after=[pdf], part=str(part))
    return flow


def test_a_cancelled_flow_is_as_far_as_what_succeeded(hand: Hand) -> None:
    root = hand.start(reading())
    worker = hand.worker()
    worker.complete(worker.claim_one())
    first, *others = worker.claim(4)
    worker.complete(first)
    hand.run(commands.Cancel([root]))
    hand.run(saying.stop_cancelled(worker.lease, others))
    ended = hand.job(root)
    assert str(ended.state) == "cancelled"
    assert ended.progress == {"percent": 20, "phase": "text", "done": 0, "total": 4, "failed": 4}


@pytest.mark.parametrize("policy", ["cancel", "continue"])
def test_a_failed_flow_is_as_far_as_what_succeeded(hand: Hand, policy: str) -> None:
    root = hand.start(reading(policy=policy))
    worker = hand.worker()
    worker.complete(worker.claim_one())
    while jobs := worker.claim(1):
        [job] = jobs
        worker.progress(job, 90, message=f"{job.kind} is nearly there")
        worker.fail(job, final=True)
    ended = hand.job(root)
    assert str(ended.state) == "failed"
    assert (ended.percent, ended.progress["phase"]) == (10, "text")
    assert (ended.progress["done"], ended.progress["failed"], ended.progress["total"]) == (0, 4, 4)


def test_a_flow_that_goes_on_passes_what_failed_and_counts_it_apart(hand: Hand) -> None:
    root = hand.start(reading(policy="continue"))
    worker = hand.worker()
    worker.complete(worker.claim_one())
    lost, *others = worker.claim(4)
    worker.fail(lost)
    worker.complete(*others)
    assert hand.job(root).progress | {"message": ""} == {
        "percent": 55, "phase": "pdf", "done": 0, "failed": 1, "total": 4, "message": ""
    }  # fmt: skip
    worker.complete(*worker.claim(3))
    worker.complete(*worker.claim(3))
    assert (hand.job(root).progress["done"], hand.job(root).percent) == (3, 95)
    worker.complete(worker.claim_one())
    assert (hand.job(root).percent, hand.job(root).progress["done"]) == (100, 3)


def test_a_flow_whose_last_step_fails_is_as_far_as_its_children(hand: Hand) -> None:
    flow = Flow(then=NewJob(kind="bind", max_attempts=1), phases={"text": (0, 60)})
    flow.add(NewJob(kind="text"), phase="text")
    root = hand.start(flow)
    worker = hand.worker()
    worker.complete(worker.claim_one())
    last = worker.claim_one()
    worker.progress(last, 97, message="Binding")
    worker.fail(last)
    assert (hand.job(root).percent, hand.job(root).progress["message"]) == (60, "Binding")


def test_a_nested_flow_that_fails_takes_its_share_back(hand: Hand) -> None:
    inner = Flow(policy="continue")
    inner.add(NewJob(kind="a", max_attempts=1))
    inner.add(NewJob(kind="b", max_attempts=1))
    outer = Flow()
    outer.add(inner)
    outer.add(NewJob(kind="c", delay=60))
    root = hand.start(outer)
    worker = hand.worker()
    for job in worker.claim(2):
        worker.progress(job, 80)
        worker.fail(job)
    assert hand.job(root).percent == 0
    assert hand.job(root).progress["failed"] == 2


def test_a_flow_says_what_one_of_its_running_jobs_said_last(hand: Hand) -> None:
    inner = Flow()
    for kind in ("long", "short"):
        inner.add(NewJob(kind=kind))
    outer = Flow()
    outer.add(inner)
    outer.add(NewJob(kind="later", delay=60))
    root = hand.start(outer)
    worker = hand.worker()
    long, short = worker.claim(2)
    worker.progress(long, 10, message="long is under way")
    worker.progress(short, 10, message="short has started")
    assert hand.job(root).progress["message"] == "short has started"
    worker.complete(short)
    assert hand.job(root).progress["message"] == "long is under way"
    worker.complete(long)
    assert hand.job(root).progress["message"] == "long is under way"


def test_a_retry_says_which_attempt_it_is_and_why(hand: Hand) -> None:
    id = hand.add(max_attempts=3)
    worker = hand.worker()
    worker.progress(job := worker.claim_one(), 100, message="Storing", phase="store", done=3, total=3)
    worker.fail(job, "storage is full", retry_in=0)
    assert hand.job(id).progress == {
        "percent": 0, "message": "Attempt 2 of 3: storage is full", "attempt": 2, "reason": "storage is full"
    }  # fmt: skip
    worker.progress(again := worker.claim_one(), 20, message="Reading")
    assert hand.job(id).progress == {"percent": 20, "message": "Reading", "attempt": 2, "reason": "storage is full"}
    worker.complete(again)
    assert hand.job(id).progress == {"percent": 20, "message": "Reading"}


def test_a_retry_shows_no_text_that_is_not_meant_to_be_shown(hand: Hand) -> None:
    id = hand.add()
    worker = hand.worker()
    worker.fail(worker.claim_one(), "password=hunter2", traceback="secret", retry_in=0)
    assert hand.job(id).progress["message"] == "Attempt 2 of 5: it failed by an internal error"
    assert "hunter2" not in str(hand.job(id).progress)


def test_why_it_was_tried_again_is_not_the_last_word_of_a_job_that_succeeded(hand: Hand) -> None:
    id = hand.add()
    worker = hand.worker()
    worker.fail(worker.claim_one(), retry_in=0)
    worker.complete(worker.claim_one())
    assert hand.job(id).progress == {"percent": 0}
    assert hand.job(id).percent == 100


def test_a_retry_inside_a_flow_takes_it_back_and_says_why(hand: Hand) -> None:
    flow = Flow()
    flow.add(NewJob(kind="a"))
    flow.add(NewJob(kind="b", delay=60))
    root = hand.start(flow)
    worker = hand.worker()
    worker.progress(job := worker.claim_one(), 80, message="nearly there")
    worker.fail(job, "timed out", retry_in=0)
    assert (hand.job(root).percent, hand.job(root).progress["message"]) == (0, "Attempt 2 of 5: timed out")


@pytest.mark.parametrize(
    ("lost", "message"),
    [(True, "Attempt 2 of 5: its worker was lost"), (False, "Starts again: its worker was stopped")],
)
def test_a_job_that_lost_its_worker_says_so(hand: Hand, lost: bool, message: str) -> None:
    flow = Flow()
    flow.add(NewJob(kind="a"))
    root = hand.start(flow)
    worker = hand.worker()
    worker.progress(job := worker.claim_one(), 80)
    hand.run((commands.ExpireLease if lost else commands.CloseLease)(worker.lease))
    for id in (job.id, root):
        assert (hand.job(id).percent, hand.job(id).progress["message"]) == (0, message)
