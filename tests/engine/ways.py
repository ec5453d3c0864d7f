"""Every way in which a job becomes ready or scheduled. Each prepares a job with the first hand, does it with the
second, whose transaction goes on, and returns the job's id."""

from collections.abc import Callable
from typing import Any
from uuid import UUID

from penstock.engine import commands
from penstock.job import ClaimedJob, NewJob, new_job_id
from tests.engine.hand import Hand, Worker
from tests.kit import saying

Way = Callable[[Hand, Hand, str], UUID]


def new(queue: str, **fields: Any) -> NewJob:
    match queue:
        case "urgent":
            return NewJob(kind="work", queue=queue, priority=1, **fields)
        case "quota":
            return NewJob(kind="work", queue=queue, owner="ada", quota="wide", **fields)
        case _:
            return NewJob(kind="work", queue=queue, owner="ada", limit_key="key", **fields)


def claimed(hand: Hand, queue: str) -> tuple[Worker, ClaimedJob]:
    worker = hand.worker("another", seconds=3600)
    hand.enqueue(new(queue))
    return worker, worker.claim_one(queue)


def enqueue_one(_: Hand, late: Hand, queue: str) -> UUID:
    return late.enqueue(new(queue))[0].id


def enqueue_plainly(_: Hand, late: Hand, queue: str) -> UUID:
    job = new(queue)
    if queue == "quota":
        return late.enqueue(job)[0].id
    late.run(commands.EnqueuePlain(job, job.id.hex, b"{}", hand=True))
    return job.id


def copy(_: Hand, late: Hand, queue: str) -> UUID:
    return late.enqueue(*[new(queue) for _ in range(20)])[0].id


def promote(hand: Hand, late: Hand, queue: str) -> UUID:
    [job] = hand.enqueue(new(queue, delay=0.001))
    late.move_clock(seconds=1)
    late.run(commands.Promote())
    return job.id


def release(hand: Hand, late: Hand, queue: str) -> UUID:
    worker, job = claimed(hand, queue)
    assert late.run(saying.release(worker.lease, [job])) == [job.id]
    return job.id


def fail(hand: Hand, late: Hand, queue: str) -> UUID:
    worker, job = claimed(hand, queue)
    assert late.run(saying.fail(worker.lease, [job], [{"error": "boom", "retry_in": 0}]))
    return job.id


def snooze(hand: Hand, late: Hand, queue: str) -> UUID:
    worker, job = claimed(hand, queue)
    assert late.run(saying.snooze(worker.lease, [job], [0]))
    return job.id


def lose(hand: Hand, late: Hand, queue: str) -> UUID:
    worker, job = claimed(hand, queue)
    assert late.run(commands.ExpireLease(worker.lease)) == 1
    return job.id


def retry(hand: Hand, late: Hand, queue: str) -> UUID:
    worker, job = claimed(hand, queue)
    worker.fail(job, final=True)
    assert late.run(commands.Retry([job.id])) == [job.id]
    return job.id


def retry_elsewhere(hand: Hand, late: Hand, queue: str) -> UUID:
    worker, job = claimed(hand, "elsewhere")
    worker.fail(job, final=True)
    assert late.run(commands.Retry([job.id], queue)) == [job.id]
    return job.id


def unpark(hand: Hand, late: Hand, queue: str) -> UUID:
    worker, job = claimed(hand, queue)
    assert hand.run(saying.park(worker.lease, [job], ["no handler"]))
    late.move_clock(seconds=2)
    late.run(commands.OpenLease("it knows", kinds=["work"], queues=[queue]))
    return job.id


def unblock(hand: Hand, late: Hand, queue: str) -> UUID:
    first = new(queue)
    second = new(queue, after=(first.id,), id=new_job_id())
    hand.enqueue(first, second)
    worker = hand.worker("another", seconds=3600)
    assert late.run(saying.complete(worker.lease, [worker.claim_one(queue)])) == []
    return second.id


READY: list[Way] = [
    enqueue_one,
    enqueue_plainly,
    copy,
    promote,
    release,
    fail,
    snooze,
    lose,
    retry,
    retry_elsewhere,
    unpark,
    unblock,
]


def schedule(_: Hand, late: Hand, queue: str) -> UUID:
    return late.enqueue(new(queue, delay=0.5))[0].id


def schedule_plainly(_: Hand, late: Hand, queue: str) -> UUID:
    job = new(queue, delay=0.5)
    late.run(commands.EnqueuePlain(job, job.id.hex, b"{}"))
    return job.id


def schedule_many(_: Hand, late: Hand, queue: str) -> UUID:
    return late.enqueue(*[new(queue, delay=0.5) for _ in range(20)])[0].id


def back_off(hand: Hand, late: Hand, queue: str) -> UUID:
    worker, job = claimed(hand, queue)
    assert late.run(saying.fail(worker.lease, [job], [{"error": "boom", "retry_in": 0.5}]))
    return job.id


def poll(hand: Hand, late: Hand, queue: str) -> UUID:
    worker, job = claimed(hand, queue)
    assert late.run(saying.snooze(worker.lease, [job], [0.5]))
    return job.id


SCHEDULED: list[Way] = [schedule, schedule_plainly, schedule_many, back_off, poll]
