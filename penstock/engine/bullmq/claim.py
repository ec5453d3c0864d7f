"""Claiming: BullMQ's moveToActive, several in one round trip. What needs no handler is ended on the way."""

from collections.abc import Sequence
from itertools import count
from uuid import UUID

from penstock.engine import commands as c
from penstock.engine.bullmq import calls, changes, index, lost, schedules
from penstock.engine.bullmq.again import LOST
from penstock.engine.bullmq.hands import Hands, HeldJob, held_job, token_of
from penstock.engine.bullmq.leases import seconds_of
from penstock.engine.bullmq.record import CANCEL, STALLED, UNRUN, Record, record_of
from penstock.engine.bullmq.session import Session
from penstock.errors import EngineCannot
from penstock.job import ClaimedJob, Lease
from penstock.logs import counted

_FIRST = 4
_MOST = 200
"""Of calls in one round trip: each is a script of some 30 µs, and Redis does nothing else meanwhile."""

_numbers = count(1)


async def claim(session: Session, hands: Hands, asked: c.Claim) -> list[ClaimedJob]:
    if asked.kinds is not None or asked.owner is not None:
        raise EngineCannot(
            "claim_by_kind", "BullMQ hands out a queue's jobs in their order: give these kinds a queue of their own"
        )
    seconds = await seconds_of(session, asked.lease)
    claimed: list[ClaimedJob] = []
    size = session.appetite.get(asked.queue, _FIRST)
    while len(claimed) < asked.limit:
        wanted = min(size, asked.limit - len(claimed), _MOST)
        records = await _take(session, hands, asked.lease, asked.queue, wanted, int(seconds * 1000))
        for record in records:
            of_no_handler = await _ended(session, hands, asked.lease, record)
            if not of_no_handler and not await _put_off(session, hands, asked.lease, record):
                claimed.append(record.claimed())
        if len(records) < wanted:
            size = _FIRST
            break
        size = min(2 * size, _MOST)
    session.appetite[asked.queue] = size
    return claimed


async def _take(session: Session, hands: Hands, lease: Lease, queue: str, wanted: int, lock_ms: int) -> list[Record]:
    keys = session.keys(queue)
    tokens = [f"{token_of(lease)}{next(_numbers)}" for _ in range(wanted)]
    answers = await session.many([calls.take_next(keys, token, lock_ms) for token in tokens])
    taken: dict[UUID, HeldJob] = {}
    records = []
    next_due = 0
    for token, (flat, id, _, due) in zip(tokens, answers, strict=True):
        if flat:
            record = record_of(queue, id, flat)
            records.append(record)
            taken[record.uuid] = held_job(record, token)
        else:
            next_due = int(due or 0)
            session.due[queue] = next_due / 1000
    if next_due:
        # whoever listens may have begun to wait before this was known: BullMQ's own marker of a time tells them
        await session.one(calls.plain("ZADD", keys["marker"], next_due, "1"))
    if taken:
        noted = index.note(session, records)
        await session.many([*hands.add(session, lease, taken), *noted, *_begun_again(session, records)])
    for record in records:
        if record.fields.get("rjk"):
            await schedules.go_on(session, record)
    return records


def _begun_again(session: Session, records: Sequence[Record]) -> list[calls.RedisCall]:
    """Those that BullMQ has found without a worker, which says nothing of that by itself."""
    told = []
    for record in records:
        attempt = record.attempts_made() + 1
        if "stc" in record.fields and record.progress.get("attempt") != attempt:
            for field, value in record.begins_again(LOST, attempt).items():
                told.append(calls.plain("HSET", session.keys(record.queue)[record.id], field, value))
    return told


async def _ended(session: Session, hands: Hands, lease: Lease, record: Record) -> bool:
    """Ends what no handler is to see: a job whose child has failed, a flow that has no last step, one to cancel, and
    one whose workers were lost too often."""
    failure = record.fields.get("defa")
    left = record.attempts_made() < record.max_attempts
    if record.ours is not None and failure == STALLED and left:
        await session.one(calls.plain("HDEL", session.keys(record.queue)[record.id], "defa"))
        failure = None
    worker_lost = failure == STALLED or (record.ours is not None and not failure and not left)
    if record.ours is not None and not failure and not left:
        failure = f"its worker was lost, {counted(record.attempts_made(), 'time')}"
    if record.ours is not None and failure and failure.startswith("child "):
        failure = "a job it waited for did not succeed"  # theirs names a key of Redis, which users would see
    if CANCEL in record.fields:
        failure, worker_lost = record.fields[CANCEL] or "cancelled", False
    rollup = record.about.get("rollup")
    hollow = isinstance(rollup, dict) and bool(rollup.get("hollow"))
    if not failure and not hollow:
        return False
    held = (await hands.find(session, lease, [record.claimed().held]))[record.uuid]
    if failure and record.ours is not None:
        # first: whoever is killed in between has this job again, and does the rest
        await changes.cancel_awaited(session, session.keys(record.queue), record.id, failure)
    said = failure or "null"
    ended = calls.finish(
        session.keys(record.queue), record.id, held.token, failed=bool(failure), said=said,
        keep=held.keep[bool(failure)], attempts=held.attempts, fields={UNRUN: "1"},
    )  # fmt: skip
    answer, *_ = await session.many([ended, hands.drop(session, lease, [record.uuid])])
    if worker_lost and int(answer) >= 0:
        await session.many(lost.note(session, record))
    return True


async def _put_off(session: Session, hands: Hands, lease: Lease, record: Record) -> bool:
    """Lets the job of a schedule wait that is to come some time after its tick."""
    ms = schedules.put_off_ms(record)
    if not ms:
        return False
    held = (await hands.find(session, lease, [record.claimed().held]))[record.uuid]
    later = calls.delay(session.keys(record.queue), record.id, held.token, ms, counts=False)
    await session.many([later, hands.drop(session, lease, [record.uuid])])
    return True
