"""The progress of a flow, rolled up from its children by weight and by named phases."""

from uuid import UUID

import pytest

from penstock.engine import commands
from penstock.flow import Flow
from penstock.job import NewJob
from tests.engine.hand import Hand
from tests.kit import saying

READINGS = {"calculating": (0, 10), "text": (10, 50), "pdf": (50, 70), "audio": (70, 95)}


def seen(hand: Hand, flow: UUID) -> tuple[float, str | None]:
    progress = hand.job(flow).progress
    return progress["percent"], progress.get("phase")


def test_a_flow_is_as_far_as_its_children_by_their_weight(hand: Hand) -> None:
    flow = Flow()
    flow.add(NewJob(kind="light"), weight=1)
    flow.add(NewJob(kind="heavy"), weight=3)
    root = hand.start(flow)
    worker = hand.worker()
    light, heavy = worker.claim(2)
    worker.progress(heavy, 50, message="half of it")
    assert hand.job(root).progress == {"percent": 37.5, "done": 0, "total": 2, "message": "half of it"}
    worker.complete(light)
    assert (hand.job(root).percent, hand.job(root).progress["done"]) == (62.5, 1)
    worker.progress(heavy, 90)
    assert hand.job(root).percent == 92.5
    worker.complete(heavy)
    assert hand.job(root).percent == 100
    assert hand.job(root).progress["percent"] == 100


def test_the_phases_of_seed_001_take_their_part_of_the_way(hand: Hand) -> None:
    flow = Flow(then=NewJob(kind="finalize"), phases=READINGS)
    chart = flow.add(NewJob(kind="chart"), phase="calculating")
    texts = [flow.add(NewJob(kind="text"), phase="text", after=[chart]) for _ in range(16)]
    pdfs = [flow.add(NewJob(kind="pdf"), phase="pdf", after=[text]) for text in texts]
    for pdf in pdfs:
        flow.add(NewJob(kind="audio"), phase="audio", after=[pdf])
    root = hand.start(flow)
    worker = hand.worker()

    chart_job = worker.claim_one()
    worker.progress(chart_job, 50, message="birth chart")
    assert seen(hand, root) == (5, "calculating")
    worker.complete(chart_job)
    assert seen(hand, root) == (10, "text")

    texts_run = worker.claim(16)
    worker.complete(*texts_run[:7])
    assert seen(hand, root) == (27.5, "text")
    assert hand.job(root).progress["done"] == 8
    worker.complete(*texts_run[7:])
    assert seen(hand, root) == (50, "pdf")
    worker.complete(*worker.claim(16))
    assert seen(hand, root) == (70, "audio")
    worker.complete(*worker.claim(16))
    assert seen(hand, root) == (95, "audio")

    last = worker.claim_one()
    worker.progress(last, 97, message="cleanup")
    assert hand.job(root).percent == 97
    worker.complete(last)
    assert hand.job(root).percent == 100


def test_a_phase_without_jobs_counts_as_passed(hand: Hand) -> None:
    flow = Flow(phases=READINGS)
    flow.add(NewJob(kind="text"), phase="text")
    flow.add(NewJob(kind="audio"), phase="audio")
    root = hand.start(flow)
    worker = hand.worker()
    text, audio = worker.claim(2)
    worker.progress(text, 50)
    assert seen(hand, root) == (30, "text")
    worker.complete(text)
    assert seen(hand, root) == (70, "audio")
    worker.complete(audio)
    assert hand.job(root).progress["percent"] == 95


def test_what_later_phases_have_done_shows_when_it_is_their_turn(hand: Hand) -> None:
    flow = Flow(phases={"text": (10, 50), "pdf": (60, 80)})
    for _ in range(4):
        text = flow.add(NewJob(kind="text"), phase="text")
        flow.add(NewJob(kind="pdf"), phase="pdf", after=[text])
    root = hand.start(flow)
    worker = hand.worker()
    *texts, last = worker.claim(4)
    worker.complete(*texts)
    assert seen(hand, root) == (40, "text")
    worker.complete(*worker.claim(3))
    assert seen(hand, root) == (40, "text")
    worker.complete(last)
    assert seen(hand, root) == (75, "pdf")
    worker.complete(worker.claim_one())
    assert hand.job(root).progress["percent"] == 80


def test_jobs_of_one_part_are_counted_as_one(hand: Hand) -> None:
    flow = Flow(policy="continue")
    first = flow.add(NewJob(kind="prepare"))
    for part in ("one", "two"):
        text = flow.add(NewJob(kind=f"write {part}", max_attempts=1), part=part, after=[first])
        flow.add(NewJob(kind=f"print {part}"), part=part, after=[text])
    root = hand.start(flow)
    worker = hand.worker()

    def counted() -> tuple[int, int]:
        progress = hand.job(root).progress
        return progress["done"], progress["total"]

    worker.complete(worker.claim_one())
    assert counted() == (0, 2)
    one, two = worker.claim(2)
    worker.complete(one)
    assert counted() == (0, 2)
    worker.complete(worker.claim_one())
    assert counted() == (1, 2)
    worker.fail(two)
    assert counted() == (1, 2)
    assert hand.job(root).progress["failed"] == 1  # it ended, and so did what waited for it

    assert hand.run(commands.Retry([two.id]))
    assert counted() == (1, 2)
    worker.complete(worker.claim_one())
    worker.complete(worker.claim_one())
    assert hand.job(root).progress["done"] == 2


def test_a_phase_is_through_when_its_jobs_are_whatever_their_weights(hand: Hand) -> None:
    flow = Flow(phases={"text": (0, 60), "pdf": (60, 100)})
    for _ in range(3):
        flow.add(NewJob(kind="text"), phase="text", weight=1 / 3)
    flow.add(NewJob(kind="pdf", delay=60), phase="pdf", weight=123_456_789)
    root = hand.start(flow)
    worker = hand.worker()
    worker.complete(*worker.claim(3))
    assert seen(hand, root) == (60, "pdf")


def test_progress_goes_up_through_nested_flows(hand: Hand) -> None:
    inner = Flow()
    inner.add(NewJob(kind="a"))
    inner.add(NewJob(kind="b"))
    outer = Flow()
    outer.add(inner, weight=3)
    outer.add(NewJob(kind="c", delay=60), weight=1)
    root = hand.start(outer)
    worker = hand.worker()
    a, b = worker.claim(2)
    worker.progress(a, 50, message="deep inside")
    assert hand.job(root).percent == 18.75
    assert hand.job(root).progress["message"] == "deep inside"
    worker.complete(a)
    assert hand.job(root).percent == 37.5
    worker.complete(b)
    assert (hand.job(root).percent, hand.job(root).progress["done"]) == (75, 1)


@pytest.mark.parametrize(("reported", "counts_as"), [(250, 100), (-3, 0)])
def test_a_percentage_out_of_range_distorts_no_flow(hand: Hand, reported: float, counts_as: float) -> None:
    flow = Flow()
    flow.add(NewJob(kind="a"))
    flow.add(NewJob(kind="b"))
    root = hand.start(flow)
    worker = hand.worker()
    first, second = worker.claim(2)
    worker.progress(first, reported)
    assert hand.job(first.id).percent == counts_as
    assert hand.job(root).percent == counts_as / 2
    worker.complete(first)
    assert hand.job(root).percent == 50
    worker.complete(second)
    assert hand.job(root).progress["percent"] == 100


def test_a_second_attempt_that_starts_again_takes_the_flow_back_with_it(hand: Hand) -> None:
    flow = Flow()
    flow.add(NewJob(kind="a"))
    flow.add(NewJob(kind="b", delay=60))
    root = hand.start(flow)
    worker = hand.worker()
    first = worker.claim_one()
    worker.progress(first, 80)
    worker.fail(first, retry_in=0)
    second = worker.claim_one()
    worker.progress(second, 10)
    assert hand.job(root).percent == 5
    worker.complete(second)
    assert hand.job(root).percent == 50


def test_a_flows_own_last_step_does_not_take_it_back(hand: Hand) -> None:
    inner = Flow(then=NewJob(kind="inner last"))
    inner.add(NewJob(kind="inner first"))
    outer = Flow()
    outer.add(inner)
    outer.add(NewJob(kind="beside", delay=60))
    root = hand.start(outer)
    worker = hand.worker()
    worker.complete(worker.claim_one())
    assert hand.job(root).percent == 50
    worker.progress(worker.claim_one(), 5)
    assert hand.job(root).percent == 50


def test_a_report_without_a_percentage_leaves_it_as_it_was(hand: Hand) -> None:
    id = hand.add()
    worker = hand.worker()
    job = worker.claim_one()
    worker.progress(job, 30, phase="reading", done=3, total=10)
    hand.run(saying.report_progress(worker.lease, [job], [{"message": "page 4", "percent": None}]))
    assert hand.job(id).progress == {"percent": 30, "phase": "reading", "done": 3, "total": 10, "message": "page 4"}
