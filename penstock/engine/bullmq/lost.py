"""Jobs that were given up because their worker was lost with the last attempt, until whoever leads or ticks takes them,
in a list beside BullMQ's keys. Whoever finds such a job as it claims may know nothing of its kind."""

import msgspec

from penstock.engine import commands as c
from penstock.engine.bullmq.calls import RedisCall, plain
from penstock.engine.bullmq.record import Record
from penstock.engine.bullmq.session import Session

_MOST = 1000
_SECONDS = 24 * 3600
"""For which they are kept while nobody asks."""

_encode = msgspec.json.Encoder().encode
_decode = msgspec.json.Decoder(c.LostJob).decode


def _list(session: Session) -> str:
    return session.names.own("lost")


def note(session: Session, record: Record) -> list[RedisCall]:
    job = record.claimed()
    # the claim that found it is no attempt
    job = msgspec.structs.replace(job, attempt=min(job.attempt, job.max_attempts))
    key = _list(session)
    said = plain("RPUSH", key, _encode(c.LostJob(job, record.queue)))
    return [said, plain("LTRIM", key, -_MOST, -1), plain("EXPIRE", key, _SECONDS)]


def waiting(session: Session) -> RedisCall:
    """How many there are."""
    return plain("LLEN", _list(session))


async def take(session: Session, asked: c.TakeLost) -> list[c.LostJob]:
    # one by one: LPOP of several needs Redis 6.2
    taken = await session.many([plain("LPOP", _list(session))] * asked.limit)
    return [_decode(text) for text in taken if text]
