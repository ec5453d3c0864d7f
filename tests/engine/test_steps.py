"""Durable steps: what a handler has done once, its next attempt does not do again."""

from concurrent.futures import ThreadPoolExecutor
from datetime import datetime

import msgspec

from penstock.engine import commands
from penstock.job import ClaimedJob, JobState
from tests.engine.conftest import Hands
from tests.engine.crowd import wait_until_blocked
from tests.engine.hand import Hand, Worker
from tests.kit import saying


def test_a_remembered_step_is_recalled_by_the_next_attempt(hand: Hand) -> None:
    hand.add()
    worker = hand.worker()
    job = worker.claim_one()
    assert hand.run(saying.remember_step(worker.lease, job, "load", b'{"rows": 3}'))
    assert hand.run(saying.remember_step(worker.lease, job, "nothing came of it", b"null"))
    worker.fail(job, retry_in=0)
    assert worker.steps(worker.claim_one()) == {"load": {"rows": 3}, "nothing came of it": None}


def test_steps_survive_giving_up_and_an_operators_retry(hand: Hand) -> None:
    id = hand.add(max_attempts=1)
    worker = hand.worker()
    job = worker.claim_one()
    hand.run(saying.remember_step(worker.lease, job, "load", b"1"))
    worker.fail(job)
    hand.run(commands.Retry([id]))
    assert worker.steps(worker.claim_one()) == {"load": 1}


def test_a_step_done_twice_keeps_the_later_result(hand: Hand) -> None:
    hand.add()
    worker = hand.worker()
    job = worker.claim_one()
    hand.run(saying.remember_step(worker.lease, job, "load", b"1"))
    hand.run(saying.remember_step(worker.lease, job, "load", b"2"))
    assert worker.steps(job) == {"load": 2}


def test_a_worker_that_lost_the_job_cannot_remember_steps_for_it(hand: Hand) -> None:
    hand.add()
    late = hand.worker("late")
    lost = late.claim_one()
    hand.move_clock(seconds=31)
    hand.run(commands.Reclaim())
    heir = hand.worker("heir")
    job = heir.claim_one()
    assert hand.run(saying.remember_step(heir.lease, job, "load", b'"mine"'))
    assert not hand.run(saying.remember_step(late.lease, lost, "load", b'"late"'))
    assert not hand.run(saying.remember_step(heir.lease, lost, "load", b'"earlier claim"'))
    assert heir.steps(job) == {"load": "mine"}


def test_steps_are_a_jobs_own(hand: Hand) -> None:
    one, two = hand.add(), hand.add()
    worker = hand.worker()
    jobs = {job.id: job for job in worker.claim(2)}
    for job in jobs.values():
        hand.run(saying.remember_step(worker.lease, job, "load", b'"%s"' % str(job.id).encode()))
    assert worker.steps(jobs[one]) == {"load": str(one)}
    assert worker.steps(jobs[two]) == {"load": str(two)}
    assert hand.states(one, two) == [JobState.RUNNING] * 2


def waits(worker: Worker, job: ClaimedJob, event: str = "paid", timeout: float | None = None) -> commands.Suspend:
    step = commands.WaitingStep("wait", "event", number=1, event=event, key="", timeout=timeout)
    return commands.Suspend(worker.lease, job.id, job.claims, step)


def emits(event: str = "paid", *, keep: float = 60) -> commands.Emit:
    return commands.Emit(event, "", msgspec.Raw(b"1"), keep)


def test_times_of_waits_and_events_are_those_when_the_locks_were_had(hands: Hands) -> None:
    hand, other, holder = hands(), hands(), hands()
    hand.add()
    worker = hand.worker(seconds=600)
    job = worker.claim_one()
    lock = "select from penstock.jobs where id = %s for update"
    for command in (waits(worker, job, timeout=60), emits()):
        with ThreadPoolExecutor(1) as thread:
            with holder.connection.transaction():
                holder.rows(lock, job.id)
                asked = thread.submit(hand.run, command)
                wait_until_blocked(other, 1)
                had: datetime = other.value("select clock_timestamp()")
            asked.result(timeout=30)
        name = "until" if isinstance(command, commands.Suspend) else "emitted_at"
        stored: datetime = other.value(f"select (output->>'{name}')::timestamptz from penstock.steps")
        since = other.value("select done_at from penstock.steps")
        assert since >= had
        assert (stored - since).total_seconds() == (60 if name == "until" else 0)


def test_a_time_limit_is_not_reset_by_a_worker_that_is_lost(hand: Hand) -> None:
    id = hand.add()
    worker = hand.worker(seconds=10)
    hand.move_clock(seconds=0)
    assert hand.run(waits(worker, worker.claim_one(), timeout=60))
    until = hand.job(id).run_at
    hand.move_clock(seconds=60)
    hand.run(commands.Promote())
    lost = hand.worker(seconds=10)
    lost.claim_one()
    hand.move_clock(seconds=11)
    hand.run(commands.Reclaim())
    heir = hand.worker()
    job = heir.claim_one()
    found = hand.run(waits(heir, job, timeout=60))
    assert found is not None
    assert (found.state, found.output["timed_out"]) == (JobState.RUNNING, True)
    assert datetime.fromisoformat(found.output["until"]) == until


def test_an_event_is_kept_as_long_as_was_said(hand: Hand) -> None:
    """One that came in time is had, also after somebody has tidied up; later it is gone."""
    hand.add()
    hand.add()
    worker = hand.worker(seconds=1e9)
    first, second = worker.claim(2)
    hand.move_clock(seconds=0)
    hand.run(emits(keep=60))
    hand.move_clock(seconds=59)
    hand.run(commands.Maintain())
    had = hand.run(waits(worker, first))
    assert had is not None
    assert (had.state, had.output["payload"]) == (JobState.RUNNING, 1)
    hand.run(emits(keep=60))
    hand.move_clock(seconds=61)
    left = hand.run(waits(worker, second))
    assert left is not None
    assert left.state is JobState.BLOCKED
    assert hand.value("select count(*) from penstock.events") == 1
    assert (hand.run(commands.Maintain()) or {})["events_forgotten"] == 1
    assert hand.value("select count(*) from penstock.events") == 0


def test_an_event_that_is_not_kept_is_only_for_who_waits_already(hand: Hand) -> None:
    hand.add()
    worker = hand.worker(seconds=1e9)
    hand.move_clock(seconds=0)
    assert hand.run(emits(keep=0)) is None
    left = hand.run(waits(worker, job := worker.claim_one()))
    assert left is not None
    assert left.state is JobState.BLOCKED
    assert hand.run(emits(keep=0)) == job.id


def test_a_mailbox_that_nobody_uses_is_forgotten_and_one_that_is_waited_at_is_not(hand: Hand) -> None:
    hand.add()
    worker = hand.worker(seconds=1e9)
    hand.move_clock(seconds=0)
    hand.run(waits(worker, worker.claim_one(), "waited for"))
    hand.run(emits("over", keep=1))
    hand.run(emits("kept", keep=7200))
    hand.move_clock(seconds=3601)
    hand.run(commands.Maintain())
    assert hand.rows("select event from penstock.mailboxes order by 1") == [("kept",), ("waited for",)]
