"""Leases: who may write about a job, and what becomes of the jobs of a worker that is gone."""

from collections.abc import Callable
from typing import Any

import pytest

from penstock.engine import commands
from penstock.engine.commands import Command
from penstock.errors import LeaseLost
from penstock.job import ClaimedJob, JobState, Lease
from tests.engine.conftest import Hands
from tests.engine.hand import Hand
from tests.kit import saying

Report = Callable[[Lease, ClaimedJob], Command[Any]]

REPORTS: dict[str, Report] = {
    "complete": lambda lease, job: saying.complete(lease, [job], [b'"late"']),
    "fail": lambda lease, job: saying.fail(lease, [job], [{"error": "late"}]),
    "snooze": lambda lease, job: saying.snooze(lease, [job], [60]),
    "release": lambda lease, job: saying.release(lease, [job]),
    "stop": lambda lease, job: saying.stop_cancelled(lease, [job]),
    "progress": lambda lease, job: saying.report_progress(lease, [job], [{"percent": 99}]),
    "step": lambda lease, job: saying.remember_step(lease, job, "late", b"1"),
}


def is_refused(report: str, job: ClaimedJob, answer: Any) -> bool:
    return bool(answer == [job.id]) if report == "complete" else not answer


@pytest.mark.parametrize("report", REPORTS)
def test_a_worker_that_was_gone_too_long_is_refused(hand: Hand, report: str) -> None:
    id = hand.add()
    late = hand.worker("late")
    lost = late.claim_one()
    hand.move_clock(seconds=31)
    assert hand.run(commands.Reclaim()) == 1
    heir = hand.worker("heir")
    job = heir.claim_one()
    assert (job.id, job.attempt) == (id, 2)

    assert is_refused(report, lost, hand.run(REPORTS[report](late.lease, lost)))
    assert hand.state(id) is JobState.RUNNING
    assert hand.job(id).percent == 0
    assert heir.complete(job, outputs=[b'"done"']) == []
    assert hand.job(id).output == "done"


@pytest.mark.parametrize("report", REPORTS)
def test_one_claim_has_one_outcome(hand: Hand, report: str) -> None:
    id = hand.add()
    worker = hand.worker()
    job = worker.claim_one()
    assert worker.complete(job, outputs=[b'"first"']) == []
    assert is_refused(report, job, hand.run(REPORTS[report](worker.lease, job)))
    assert (hand.state(id), hand.job(id).output) == (JobState.SUCCEEDED, "first")


@pytest.mark.parametrize("report", REPORTS)
def test_the_same_worker_cannot_report_an_earlier_claim(hand: Hand, report: str) -> None:
    """The lease alone is no fence: the job came back to the same worker meanwhile."""
    id = hand.add()
    worker = hand.worker()
    earlier = worker.claim_one()
    worker.fail(earlier, retry_in=0)
    current = worker.claim_one()
    assert is_refused(report, earlier, hand.run(REPORTS[report](worker.lease, earlier)))
    assert worker.complete(current) == []
    assert hand.job(id).attempt == 2


@pytest.mark.parametrize("ask", [saying.recall_steps, saying.outputs])
def test_what_belongs_to_a_job_is_told_to_its_holder_alone(
    hand: Hand, ask: Callable[[Lease, ClaimedJob], Command[list[Any]]]
) -> None:
    hand.add()
    late, heir = hand.worker("late"), hand.worker("heir", seconds=60)
    lost = late.claim_one()
    assert hand.run(ask(late.lease, lost)) == []
    hand.move_clock(seconds=31)
    hand.run(commands.Reclaim())
    strangers = [(late, lost), (heir, lost)]
    job = heir.claim_one()
    for worker, claimed in [*strangers, (late, job)]:
        with pytest.raises(LeaseLost, match=str(job.id)):
            hand.run(ask(worker.lease, claimed))
    assert hand.run(ask(heir.lease, job)) == []
    heir.complete(job)
    with pytest.raises(LeaseLost):
        hand.run(ask(heir.lease, job))


@pytest.mark.parametrize("report", REPORTS)
def test_only_the_worker_that_holds_a_job_can_report_on_it(hand: Hand, report: str) -> None:
    """The number of the claim alone is no fence: others may know it, and a job given back still has it."""
    id = hand.add()
    holder, other = hand.worker(), hand.worker()
    job = holder.claim_one()
    assert is_refused(report, job, hand.run(REPORTS[report](other.lease, job)))
    assert hand.state(id) is JobState.RUNNING
    hand.run(saying.release(holder.lease, [job]))
    assert is_refused(report, job, hand.run(REPORTS[report](holder.lease, job)))
    assert (hand.state(id), hand.job(id).progress) == (JobState.READY, {})


def test_of_several_jobs_only_the_lost_ones_are_refused(hand: Hand) -> None:
    ids = [hand.add() for _ in range(3)]
    worker = hand.worker()
    jobs = worker.claim(3)
    hand.run(saying.release(worker.lease, jobs[1:2]))
    assert worker.complete(*jobs, outputs=[b"0", b"1", b"2"]) == [ids[1]]
    assert hand.states(*ids) == ["succeeded", "ready", "succeeded"]
    assert hand.job(ids[2]).output == 2


def test_an_extended_lease_keeps_its_jobs(hand: Hand) -> None:
    hand.add()
    worker = hand.worker(seconds=30)
    worker.claim_one()
    for _ in range(5):
        hand.move_clock(seconds=29)
        assert hand.run(commands.ExtendLease(worker.lease)).alive
        assert hand.run(commands.Reclaim()) == 0


def test_a_lost_lease_is_told_so(hand: Hand) -> None:
    worker = hand.worker(seconds=30)
    hand.move_clock(seconds=31)
    hand.run(commands.Reclaim())
    assert not hand.run(commands.ExtendLease(worker.lease)).alive
    with pytest.raises(LeaseLost, match="open a new one"):
        worker.claim()


def test_a_job_that_kills_its_worker_every_time_fails_with_each_loss_on_record(hand: Hand) -> None:
    id = hand.add(max_attempts=2)
    for name in ("first", "second"):
        hand.worker(name).claim_one()
        hand.move_clock(seconds=31)
        assert hand.run(commands.Reclaim()) == 1
    job = hand.job(id)
    assert (job.state, job.attempt) == (JobState.FAILED, 2)
    assert [(each["attempt"], each["error"]) for each in job.errors] == [
        (1, "worker first was lost: its lease ran out"),
        (2, "worker second was lost: its lease ran out"),
    ]


def test_a_claim_whose_lease_is_gone_altogether_is_reclaimed(hand: Hand) -> None:
    """Claimed in the instant the lease was deleted."""
    id = hand.add()
    hand.worker().claim_one()
    hand.do("delete from penstock.leases")
    keeper = hand.worker("keeper")
    kept = hand.add()
    keeper.claim_one()
    assert hand.run(commands.Reclaim()) == 0
    assert hand.run(commands.Reclaim(everywhere=True)) == 1
    assert hand.states(id, kept) == ["ready", "running"]
    assert hand.job(id).attempt == 1


def test_the_jobs_of_several_lost_workers_each_name_their_own(hand: Hand) -> None:
    ids = [hand.add() for _ in range(2)]
    hand.worker("one").claim_one()
    hand.worker("two").claim_one()
    hand.move_clock(seconds=31)
    assert hand.run(commands.Reclaim()) == 2
    assert [hand.job(id).last_error for id in ids] == [
        f"worker {name} was lost: its lease ran out" for name in ("one", "two")
    ]
    assert hand.value("select count(*) from penstock.leases") == 0


def test_a_worker_that_leaves_gives_its_jobs_back_at_no_cost(hand: Hand) -> None:
    ids = [hand.add(max_attempts=1) for _ in range(3)]
    worker = hand.worker()
    worker.claim(3)
    assert hand.run(commands.CloseLease(worker.lease)) == 3
    assert hand.states(*ids) == ["ready"] * 3
    assert {hand.job(id).attempt for id in ids} == {0}
    assert [job.claims for job in hand.worker().claim(3)] == [2, 2, 2]
    with pytest.raises(LeaseLost):
        worker.claim()


def test_the_jobs_of_a_claim_whose_answer_was_lost_are_given_back(hand: Hand) -> None:
    known, unknown = hand.add(), hand.add()
    worker = hand.worker()
    [job] = worker.claim(1)
    worker.claim(1)
    assert hand.run(commands.ReleaseUnknown(worker.lease, [job.id])) == [unknown]
    assert hand.states(known, unknown) == ["running", "ready"]
    assert hand.run(commands.ReleaseUnknown(worker.lease, [job.id])) == []


def test_a_long_open_transaction_holds_up_neither_reclaim_nor_maintenance(hands: Hands) -> None:
    """Somebody enqueues a job that waits for a running one, and takes his time to commit."""
    hand, client = hands(), hands()
    awaited, other = hand.add(), hand.add()
    worker = hand.worker()
    worker.claim(2)
    with client.connection.transaction():
        client.add(after=(awaited,))
        hand.move_clock(seconds=31)
        hand.do("set statement_timeout = '5s'")
        assert (hand.run(commands.Maintain()) or {})["reclaimed"] == 1
        assert hand.states(awaited, other) == ["running", "ready"]
        assert not hand.run(commands.ExtendLease(worker.lease)).alive
    assert hand.run(commands.Reclaim()) == 1
    assert hand.state(awaited) is JobState.READY
