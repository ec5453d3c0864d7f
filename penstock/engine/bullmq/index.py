"""Where a job is, by its id alone: commands name no queue, and BullMQ knows a job only within its own."""

from collections.abc import Iterable, Sequence
from uuid import UUID

from penstock.engine.bullmq.calls import RedisCall, plain
from penstock.engine.bullmq.names import QueueKeys, is_ours
from penstock.engine.bullmq.queues import known_queues
from penstock.engine.bullmq.record import Record, record_of
from penstock.engine.bullmq.session import Session

_AT_ONCE = 500


def _foreign(session: Session) -> str:
    return session.names.own("foreign")


def note(session: Session, records: Iterable[Record]) -> list[RedisCall]:
    """Of jobs whose own ids cannot be told from ours: those that somebody else has added, and a schedule's."""
    called = [(str(each.uuid), each) for each in records]
    noted = [word for uuid, each in called if uuid != each.id for word in (uuid, f"{each.queue}\n{each.id}")]
    return [plain("HSET", _foreign(session), *noted)] if noted else []


async def forget_gone(session: Session) -> int:
    """Ids of jobs that BullMQ has removed since."""
    noted: dict[str, str] = await session.one(plain("HGETALL", _foreign(session)))
    places = {uuid: text.partition("\n")[::2] for uuid, text in noted.items()}
    alive = await session.many([plain("EXISTS", session.keys(queue)[id]) for queue, id in places.values()])
    gone = [uuid for uuid, there in zip(places, alive, strict=True) if not there]
    if gone:
        await session.one(plain("HDEL", _foreign(session), *gone))
    return len(gone)


async def places(session: Session, ids: Sequence[UUID]) -> dict[UUID, tuple[QueueKeys, str]]:
    """The queue of each job, and its id there; those that do not exist are not among them."""
    found: dict[UUID, tuple[QueueKeys, str]] = {}
    foreign = [id for id in ids if not is_ours(id)]
    if foreign:
        for id, text in zip(
            foreign, await session.one(plain("HMGET", _foreign(session), *map(str, foreign))), strict=True
        ):
            if text:
                queue, _, own = text.partition("\n")
                found[id] = session.keys(queue), own
    ours = [id for id in ids if id not in found]
    queues = [session.keys(queue) for queue in await known_queues(session)]
    for start in range(0, len(ours), _AT_ONCE):
        part = ours[start : start + _AT_ONCE]
        looks = [(id, keys) for id in part for keys in queues]
        there = await session.many([plain("EXISTS", keys[str(id)]) for id, keys in looks])
        found |= {id: (keys, str(id)) for (id, keys), exists in zip(looks, there, strict=True) if exists}
    return found


async def records(session: Session, ids: Sequence[UUID]) -> dict[UUID, Record]:
    found = await places(session, ids)
    flat = await session.many([plain("HGETALL", keys[id]) for keys, id in found.values()])
    return {
        uuid: record_of(keys.queue, id, fields)
        for (uuid, (keys, id)), fields in zip(found.items(), flat, strict=True)
        if fields
    }
