"""Jobs that a worker does not know: parked without an attempt, until one comes that knows them, or for too long."""

from collections.abc import Callable
from typing import Any
from uuid import UUID

from penstock.engine import commands
from penstock.engine.commands import Command
from penstock.job import ClaimedJob, JobState
from tests.engine.hand import Hand, Worker
from tests.kit import saying

WHY = "this worker has no handler of kind 'work'"


def park(worker: Worker, job: ClaimedJob) -> JobState:
    [became] = worker.hand.run(saying.park(worker.lease, [job], [WHY]))
    assert became.id == job.id
    return became.state


def pass_time(hand: Hand, id: UUID) -> float:
    """Until the job is ready again; how many seconds."""
    assert hand.now is not None
    pause = (hand.job(id).run_at - hand.now).total_seconds()
    hand.move_clock(seconds=pause)
    hand.run(commands.Promote())
    return pause


def test_parked_jobs_come_round_ever_less_often_and_never_cost_an_attempt(hand: Hand) -> None:
    hand.move_clock()
    id = hand.add(max_attempts=1)
    worker = hand.worker()
    pauses = []
    for _ in range(30):
        assert park(worker, worker.claim_one()) is JobState.SCHEDULED
        pauses.append(pass_time(hand, id))
    assert pauses[:3] == [1, 1, 1]
    assert pauses == sorted(pauses)
    assert pauses[-1] == 300
    job = hand.job(id)
    assert (job.attempt, job.errors, job.parked_reason) == (0, [], WHY)
    assert worker.claim_one().attempt == 1


def test_while_a_live_worker_has_a_handler_of_the_kind_they_come_round_every_half_minute(hand: Hand) -> None:
    hand.move_clock()
    id = hand.add()
    worker = hand.worker()
    hand.run(commands.OpenLease("another", seconds=10_000, kinds=["work"]))
    pauses = []
    for _ in range(15):
        park(worker, worker.claim_one())
        pauses.append(pass_time(hand, id))
    assert pauses[-1] == 30


def test_a_worker_that_knows_the_kind_makes_them_ready_when_it_comes(hand: Hand) -> None:
    hand.move_clock()
    known, elsewhere, other = hand.add(kind="work"), hand.add(kind="work", queue="slow"), hand.add(kind="play")
    later = hand.add(kind="work", delay=3600)
    worker = hand.worker()
    for queue, jobs in (("default", 2), ("slow", 1)):
        for job in worker.claim(jobs, queue):
            park(worker, job)
    hand.run(commands.OpenLease("too soon", kinds=["work"]))
    assert hand.state(known) is JobState.SCHEDULED, "it was tried in this very second"
    hand.move_clock(seconds=1)
    hand.run(commands.OpenLease("of another version", kinds=["rest"]))
    assert hand.state(known) is JobState.SCHEDULED
    hand.run(commands.OpenLease("new", queues=["default"], kinds=["work"]))
    states = [hand.state(id) for id in (known, elsewhere, other, later)]
    assert states == [JobState.READY, JobState.SCHEDULED, JobState.SCHEDULED, JobState.SCHEDULED]
    hand.run(commands.OpenLease("everywhere", kinds=["work", "play"]))
    states = [hand.state(id) for id in (known, elsewhere, other, later)]
    assert states == [JobState.READY, JobState.READY, JobState.READY, JobState.SCHEDULED]


def test_a_job_that_nobody_knows_fails_after_its_queues_timeout_and_a_retry_starts_anew(hand: Hand) -> None:
    hand.move_clock()
    hand.run(commands.SetQueue("default", {"parked_timeout": 10}))
    id = hand.add(max_attempts=1)
    worker = hand.worker()
    states: list[JobState] = []
    while not states or states[-1] is JobState.SCHEDULED:
        states.append(park(worker, worker.claim_one()))
        if states[-1] is JobState.SCHEDULED:
            pass_time(hand, id)
    job = hand.job(id)
    assert (job.state, job.attempt) == (JobState.FAILED, 0)
    assert job.last_error == f"no worker that knows it came within 00:00:10: {WHY}"
    assert job.parked_reason is None
    assert hand.value("select penstock.shown(errors) from penstock.all_jobs") == "no worker could run it"
    hand.run(commands.Retry([id]))
    assert park(worker, worker.claim_one()) is JobState.SCHEDULED


def test_by_default_a_job_waits_three_days(hand: Hand) -> None:
    hand.move_clock()
    hand.add()
    worker = hand.worker(seconds=1e6)
    park(worker, worker.claim_one())
    for hours, state in ((71.9, JobState.SCHEDULED), (0.2, JobState.FAILED)):
        hand.move_clock(seconds=3600 * hours)
        hand.run(commands.Promote())
        assert park(worker, worker.claim_one()) is state


def test_a_run_of_a_worker_that_knows_it_takes_the_mark_away(hand: Hand) -> None:
    hand.move_clock()
    id = hand.add()
    worker = hand.worker()
    reports: list[Callable[[ClaimedJob], Command[Any]]] = [
        lambda job: saying.fail(worker.lease, [job], [{"error": "boom", "retry_in": 0}]),
        lambda job: saying.snooze(worker.lease, [job], [0]),
    ]
    for report in reports:
        park(worker, worker.claim_one())
        assert hand.job(id).parked_reason == WHY
        hand.move_clock(seconds=1)
        hand.run(commands.Promote())
        job = worker.claim_one()
        assert hand.job(id).parked_reason is None, "whoever runs it may know it"
        hand.run(report(job))
        assert hand.job(id).parked_since is None
    assert hand.run(commands.ParkedJobs()) == []


def test_they_are_counted_by_queue_and_kind(hand: Hand) -> None:
    for kind, queue in (("work", "default"), ("work", "default"), ("play", "slow")):
        hand.add(kind=kind, queue=queue)
    worker = hand.worker()
    for queue, jobs in (("default", 2), ("slow", 1)):
        for job in worker.claim(jobs, queue):
            park(worker, job)
    counted = [(each.queue, each.kind, each.jobs, each.reason) for each in hand.run(commands.ParkedJobs())]
    assert counted == [("default", "work", 2, WHY), ("slow", "play", 1, WHY)]


def test_a_parked_job_can_be_cancelled_and_so_can_one_that_is_about_to_be(hand: Hand) -> None:
    parked, running = hand.add(), hand.add()
    worker = hand.worker()
    first, second = worker.claim(2)
    park(worker, first)
    hand.run(commands.Cancel([parked, running]))
    assert hand.state(parked) is JobState.CANCELLED
    assert park(worker, second) is JobState.CANCELLED
