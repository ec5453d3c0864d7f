"""Bringing ended jobs back: of a flow all that was lost of it, and the flow, as retry.sql has it."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from uuid import UUID

from penstock.engine.bullmq import calls, index
from penstock.engine.bullmq.calls import plain
from penstock.engine.bullmq.names import QueueKeys, uuid_of
from penstock.engine.bullmq.record import CANCEL, PARKED, PARKED_AT, UNRUN, Record, record_of
from penstock.engine.bullmq.refusal import cannot
from penstock.engine.bullmq.session import Session
from penstock.errors import UniqueKeyTaken


@dataclass(frozen=True, slots=True)
class _Ended:
    """A job that is to come back."""

    keys: QueueKeys
    record: Record
    place: str
    """The set that it ended in."""
    lost: Sequence[str]
    """Its children that failed, by their keys."""

    @property
    def key(self) -> str:
        return self.keys[self.record.id]

    @property
    def waiter(self) -> str | None:
        return self.record.fields.get("parentKey")

    @property
    def unique(self) -> str | None:
        """What stands for its unique key while it lives. One that Node holds for a time is no such key."""
        unique, lasting = self.record.fields.get("deid"), "ttl" in (self.record.opts.get("de") or {})
        return f"{self.keys.base}de:{unique}" if unique and not lasting else None


async def retry(
    session: Session, ids: Sequence[UUID], queue: str | None = None, *, leave_taken: bool = False
) -> list[UUID]:
    """When another has the unique key of one by now, none comes back; `leave_taken`: the others do."""
    if queue is not None:
        raise cannot("database", "moving jobs to another queue")
    chosen: dict[str, _Ended] = {}
    for keys, own in (await index.places(session, ids)).values():
        if keys[own] not in chosen:
            found = await _with_its_flow(session, keys, own)
            taken = await _taken(session, found.values(), chosen.values())
            if taken is None:
                chosen |= found
            elif not leave_taken:
                text = f"unique_key: another {taken.record.kind} holds it; retry it when that one has finished"
                raise UniqueKeyTaken(text)
    return [
        uuid_of(each.keys.queue, each.record.id) for each in chosen.values() if await _bring_back(session, each, chosen)
    ]


async def _with_its_flow(session: Session, keys: QueueKeys, id: str) -> dict[str, _Ended]:
    """By their keys, who waits before what it waits for."""
    found: dict[str, _Ended] = {}
    first = await _ended(session, keys[id])
    if first is None or first.place != "failed":
        return found
    above = [first]
    while (waiter := above[-1].waiter) and (ended := await _ended(session, waiter)):
        # one that has all of its jobs stays as it ended
        if ended.place != "failed" and not ended.lost:
            break
        above.append(ended)
    for each in reversed(above):
        found[each.key] = each
    below = list(found.values())
    while below:
        for child in below.pop(0).lost:
            ended = None if child in found else await _ended(session, child)
            if ended is not None and ended.place == "failed":
                found[child] = ended
                below.append(ended)
    return found


async def _ended(session: Session, key: str) -> _Ended | None:
    queue, id = session.names.place_of(key)
    keys = session.keys(queue)
    place, flat, unsuccessful, failed = await session.many(
        [
            calls.state_of(keys, id), plain("HGETALL", key), plain("ZRANGE", f"{key}:unsuccessful", 0, -1),
            plain("HKEYS", f"{key}:failed"),
        ]
    )  # fmt: skip
    if place not in ("failed", "completed"):
        return None
    return _Ended(keys, record_of(queue, id, flat), place, [*unsuccessful, *failed])


async def _taken(session: Session, found: Iterable[_Ended], before: Iterable[_Ended]) -> _Ended | None:
    """The first whose unique key another job has."""
    keys = {each.unique for each in before}
    for each in found:
        if each.unique is not None:
            holder = await session.one(plain("GET", each.unique))
            if holder not in (None, each.record.id) or each.unique in keys:
                return each
            keys.add(each.unique)
    return None


async def _bring_back(session: Session, job: _Ended, others: dict[str, _Ended]) -> bool:
    keys, id = job.keys, job.record.id
    await session.one(plain("HDEL", job.key, CANCEL, "stc", "defa", UNRUN, PARKED, PARKED_AT, "progress"))
    awaited = [other.key for other in others.values() if other.waiter == job.key]
    waits = int(await session.one(calls.wait_again(keys, id, job.place, awaited)))
    if waits < 0 or (waits == 0 and int(await session.one(calls.reprocess(keys, id, job.place))) != 1):
        return False
    if job.unique is not None:
        await session.one(calls.hold_key(keys, id, job.unique))
    return True
