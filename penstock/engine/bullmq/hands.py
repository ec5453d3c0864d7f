"""What leases hold: which jobs, and by which tokens of their locks."""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import Any
from uuid import UUID

import msgspec

from penstock.engine.bullmq import calls
from penstock.engine.bullmq.calls import RedisCall, plain
from penstock.engine.bullmq.record import Record, number, record_of
from penstock.engine.bullmq.session import Session
from penstock.job import Held, Lease

_REMEMBERED = 24 * 3600
"""Seconds that the list of a silent worker's jobs is kept, for whoever knows that it is dead."""


class HeldJob(msgspec.Struct, frozen=True):
    """A job in a worker's hands: where it is, and the token of its lock, which is this claim's alone."""

    queue: str
    id: str
    token: str
    claims: int
    at: int
    """Milliseconds."""
    keep: Any
    """What BullMQ is to keep of ended jobs: of those that succeeded, and of others."""
    attempts: int


def held_job(record: Record, token: str) -> HeldJob:
    keep = [_kept(record.opts.get("removeOnComplete")), _kept(record.opts.get("removeOnFail"))]
    return HeldJob(record.queue, record.id, token, record.claims, calls.now_ms(), keep, record.max_attempts)


def _kept(said: Any) -> Any:
    """What BullMQ keeps of ended jobs, by the option of a job that says what to remove."""
    if isinstance(said, dict):
        # the script calculates with them
        return {name: value for name, value in said.items() if isinstance(value, int | float)}
    if isinstance(said, bool) or not isinstance(said, int | float):
        return {"count": 0 if said is True else -1}
    return {"count": said}


_encode = msgspec.json.Encoder().encode
_decode = msgspec.json.Decoder(HeldJob).decode


def jobs_key(session: Session, lease: int) -> str:
    return session.names.own("lease", lease, "jobs")


def token_of(lease: Lease) -> str:
    """What the locks of its jobs begin with."""
    return f"penstock:{lease}:"


class Hands:
    """What the leases of this process hold, so that Redis need not be asked; others are looked up there."""

    def __init__(self) -> None:
        self._held: dict[int, dict[UUID, HeldJob]] = defaultdict(dict)

    def add(self, session: Session, lease: Lease, taken: dict[UUID, HeldJob]) -> list[RedisCall]:
        self._held[lease].update(taken)
        key = jobs_key(session, lease)
        pairs = [word for id, held in taken.items() for word in (str(id), _encode(held))]
        return [plain("HSET", key, *pairs), plain("EXPIRE", key, _REMEMBERED)]

    def drop(self, session: Session, lease: Lease, ids: Iterable[UUID]) -> RedisCall:
        gone = [str(id) for id in ids]
        for id in gone:
            self._held[lease].pop(UUID(id), None)
        return plain("HDEL", jobs_key(session, lease), *gone)

    async def forget_lost(self, session: Session, lease: Lease, lost: Mapping[UUID, HeldJob]) -> list[UUID]:
        """Those of these that have not been claimed anew meanwhile."""
        key, own = jobs_key(session, lease), self._held[lease]
        answers = await session.many([calls.forget_claim(key, str(id), job.token) for id, job in lost.items()])
        for id, job in lost.items():
            if id in own and own[id].token == job.token:
                del own[id]
        return [id for id, answer in zip(lost, answers, strict=True) if answer]

    def forget(self, lease: Lease) -> None:
        self._held.pop(lease, None)

    async def of(self, session: Session, lease: Lease) -> dict[UUID, HeldJob]:
        """All that the lease holds."""
        found: dict[str, str] = await session.one(plain("HGETALL", jobs_key(session, lease)))
        return {UUID(id): _decode(text) for id, text in found.items()}

    async def all_of(self, session: Session, lease: Lease, queues: Sequence[str]) -> dict[UUID, HeldJob]:
        """And what a claim took in these queues whose answer was lost: the locks tell whose a job is."""
        held = await self.of(session, lease)
        for queue in queues:
            keys = session.keys(queue)
            active: list[str] = await session.one(plain("LRANGE", keys["active"], 0, -1))
            tokens = await session.many([plain("GET", keys.lock(id)) for id in active])
            locked = dict(zip(active, tokens, strict=True))
            own = {id: token for id, token in locked.items() if token and token.startswith(token_of(lease))}
            hashes = await session.many([plain("HGETALL", keys[id]) for id in own])
            for (id, token), fields in zip(own.items(), hashes, strict=True):
                record = record_of(queue, id, fields)
                at = int(number(record.fields.get("processedOn")))
                held[record.uuid] = msgspec.structs.replace(held_job(record, token), at=at)
        return held

    async def find(self, session: Session, lease: Lease, jobs: Sequence[Held]) -> dict[UUID, HeldJob]:
        """Of these the ones that the lease holds by this very claim."""
        own = self._held.get(lease) or {}
        unknown = [job for job in jobs if job.id not in own]
        if unknown:
            words = await session.one(plain("HMGET", jobs_key(session, lease), *[str(job.id) for job in unknown]))
            own = own | {job.id: _decode(text) for job, text in zip(unknown, words, strict=True) if text}
        return {job.id: own[job.id] for job in jobs if job.id in own and own[job.id].claims == job.claims}
