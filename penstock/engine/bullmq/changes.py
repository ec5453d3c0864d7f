"""Changing the course of jobs: cancelling, moving within the queue."""

from collections.abc import Sequence
from uuid import UUID

from penstock.engine.bullmq import calls, index, schedules
from penstock.engine.bullmq.calls import plain
from penstock.engine.bullmq.hands import held_job
from penstock.engine.bullmq.leases import stop_list
from penstock.engine.bullmq.names import QueueKeys, to_bullmq, uuid_of
from penstock.engine.bullmq.record import CANCEL, UNRUN, record_of
from penstock.engine.bullmq.session import Session

_LOCK = 30_000
"""Milliseconds: for as long as it takes to end a job that has not started."""


async def cancel(session: Session, ids: Sequence[UUID], reason: str) -> list[UUID]:
    reached = []
    for id, (keys, own) in (await index.places(session, ids)).items():
        if await _cancel_tree(session, keys, own, reason):
            reached.append(id)
    return reached


async def _cancel_tree(session: Session, keys: QueueKeys, id: str, reason: str) -> bool:
    """First the job, then what it waits for: the other way round a job whose last child ends would start."""
    awaited = await _awaited(session, keys, id)
    reached = await _cancel_one(session, keys, id, reason)
    for below, own in awaited:
        await _cancel_tree(session, below, own, reason)
    return reached


async def cancel_awaited(session: Session, keys: QueueKeys, id: str, reason: str) -> None:
    """What a job that fails still waits for: the rest of its flow."""
    for below, own in await _awaited(session, keys, id):
        await _cancel_tree(session, below, own, reason)


async def _awaited(session: Session, keys: QueueKeys, id: str) -> list[tuple[QueueKeys, str]]:
    places = map(session.names.place_of, await session.one(plain("SMEMBERS", f"{keys[id]}:dependencies")))
    return [(session.keys(queue), own) for queue, own in places]


async def _cancel_one(session: Session, keys: QueueKeys, id: str, reason: str) -> bool:
    """Ends one that has not started by BullMQ's own script for failed jobs, which sees to whoever waits for it; asks
    whoever runs it to stop."""
    token = f"penstock:cancel:{calls.now_ms()}"
    taken, place = await session.many([calls.take_this(keys, id, token, _LOCK), calls.state_of(keys, id)])
    if taken:
        await session.one(plain("HSET", keys[id], CANCEL, reason))
        record = record_of(keys.queue, id, await session.one(plain("HGETALL", keys[id])))
        if "rjk" in record.fields and not record.claims:
            await schedules.go_on(session, record)
        held = held_job(record, token)
        ended = calls.finish(
            keys, id, token, failed=True, said=reason, keep=held.keep[1], attempts=held.attempts, fields={UNRUN: "1"}
        )
        await session.one(ended)
        return True
    if place != "active":
        return False
    token, _ = await session.many([plain("GET", keys.lock(id)), plain("HSET", keys[id], CANCEL, reason)])
    owner = (token or "").split(":")
    if owner[0] == "penstock" and len(owner) == 3:
        key = stop_list(session, owner[1])
        await session.many([plain("RPUSH", key, str(uuid_of(keys.queue, id))), plain("EXPIRE", key, 3600)])
    return True


async def set_priority(session: Session, ids: Sequence[UUID], priority: int) -> list[UUID]:
    changed = []
    for id, (keys, own) in (await index.places(session, ids)).items():
        place, before = await session.many([calls.state_of(keys, own), plain("HGET", keys[own], "priority")])
        if place in ("waiting", "prioritized", "delayed") and int(before or 0) != to_bullmq(priority):
            await session.one(calls.change_priority(keys, own, to_bullmq(priority)))
            changed.append(id)
    return changed
