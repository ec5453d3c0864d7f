"""Leases: the right of a worker to hold jobs, and which jobs it holds. BullMQ knows a lock per job; a lease is what
keeps all of a worker's locks together."""

from collections import defaultdict
from collections.abc import Collection, Sequence
from uuid import UUID

import msgspec

from penstock.engine import commands as c
from penstock.engine.bullmq import calls, lost
from penstock.engine.bullmq.again import LOST, STOPPED
from penstock.engine.bullmq.calls import RedisCall, plain
from penstock.engine.bullmq.hands import Hands, HeldJob, jobs_key
from penstock.engine.bullmq.queues import known_queues, meet
from penstock.engine.bullmq.record import CANCEL, PARKED, UNRUN, Record
from penstock.engine.bullmq.session import Session
from penstock.errors import LeaseLost
from penstock.job import Lease

SECONDS = 30.0
"""Of a lease that names no other length."""

_READ = ("opts", "progress", "atm", "attemptsMade", "stc", UNRUN)
"""Of a job that goes back."""

_encode = msgspec.json.Encoder().encode


def _lease(session: Session, lease: int) -> str:
    return session.names.own("lease", lease)


def stop_list(session: Session, lease: int | str) -> str:
    """Where a worker is told which jobs to stop."""
    return session.names.own("lease", lease, "stop")


def _leader(session: Session) -> str:
    return session.names.own("leader")


def workers_key(session: Session) -> str:
    return session.names.own("workers")


async def open_lease(session: Session, asked: c.OpenLease) -> Lease:
    lease = int(await session.one(plain("INCR", session.names.own("leases"))))
    seconds = asked.seconds or SECONDS
    about = {
        "worker": asked.worker, "seconds": seconds, "host": asked.host or "", "pid": asked.pid or 0,
        "queues": _encode(list(asked.queues)), "kinds": _encode(list(asked.kinds or ())),
        "started_at": calls.now_ms(), "heard_at": calls.now_ms(),
    }  # fmt: skip
    key = _lease(session, lease)
    await session.many(
        [
            plain("HSET", key, *[word for pair in about.items() for word in pair]),
            plain("PEXPIRE", key, int(seconds * 1000)),
            plain("SADD", workers_key(session), lease),
        ]
    )
    await meet(session, asked.queues)
    if asked.kinds:
        await _unpark(session, asked.queues, frozenset(asked.kinds))
    return Lease(lease)


async def _unpark(session: Session, queues: Sequence[str], kinds: frozenset[str]) -> None:
    """What waited for a worker that knows its kind is ready at once."""
    for queue in queues:
        keys = session.keys(queue)
        parked: dict[str, str] = await session.one(plain("HGETALL", keys["ps:parked"]))
        ready = [id for id, kind in parked.items() if kind in kinds]
        await session.many(
            [
                call
                for id in ready
                for call in (
                    calls.promote(keys, id),
                    plain("HDEL", keys[id], PARKED),
                    plain("HDEL", keys["ps:parked"], id),
                )
            ]
        )


async def seconds_of(session: Session, lease: Lease) -> float:
    """Its length; raises when it has ended."""
    seconds = await session.one(plain("HGET", _lease(session, lease), "seconds"))
    if seconds is None:
        raise LeaseLost(f"lease {lease} is gone: its jobs belong to other workers")
    return float(seconds)


async def _queues(session: Session, lease: Lease) -> list[str]:
    """Its own; none when it has run out, and its locks with it."""
    queues: list[str] = msgspec.json.decode(await session.one(plain("HGET", _lease(session, lease), "queues")) or "[]")
    return queues


async def extend(session: Session, hands: Hands, lease: Lease, *, leads: bool) -> c.Extended:
    kept = calls.keep_lease(_lease(session, lease), {"heard_at": calls.now_ms()}, lasts=True)
    seconds = await session.one(kept)
    if seconds is None:
        return c.Extended(alive=False, cancelling=[])
    ms = int(float(seconds) * 1000)
    held = await hands.of(session, lease)
    by_queue: dict[str, dict[UUID, HeldJob]] = defaultdict(dict)
    for id, job in held.items():
        by_queue[job.queue][id] = job
    locks = [
        calls.extend(session.keys(queue), [job.id for job in jobs.values()], [job.token for job in jobs.values()], ms)
        for queue, jobs in by_queue.items()
    ]
    asked = [plain("HEXISTS", session.keys(job.queue)[job.id], CANCEL) for job in held.values()]
    answers = await session.many([*locks, *asked])
    lost = {
        id: job
        for jobs, refused in zip(by_queue.values(), answers[: len(locks)], strict=True)
        for id, job in jobs.items()
        if job.id in refused
    }
    gone = await hands.forget_lost(session, lease, lost)
    stopping = [id for id, stop in zip(held, answers[len(locks) :], strict=True) if stop]
    return c.Extended(True, stopping + gone, float(seconds), leads and await _lead(session, lease, ms))


async def _lead(session: Session, lease: Lease, ms: int) -> bool:
    key = _leader(session)
    leader = await session.one(plain("SET", key, lease, "NX", "GET", "PX", ms))
    if leader is not None and int(leader) == lease:
        await session.one(plain("PEXPIRE", key, ms))
    return leader is None or int(leader) == lease


async def leads(session: Session, lease: Lease) -> bool:
    leader = await session.one(plain("GET", _leader(session)))
    return leader is not None and int(leader) == lease


async def end(session: Session, hands: Hands, lease: Lease, *, counts: bool) -> int:
    """What the lease holds goes back; `counts`: as an attempt that was lost."""
    held = await hands.all_of(session, lease, await _queues(session, lease))
    if counts:
        back = await _lost(session, held.values())
    else:
        await tell_of_stop(session, held.values())
        back = [calls.give_back(session.keys(job.queue), job.id, job.token) for job in held.values()]
    answers = await session.many(back)
    queues = {job.queue for job in held.values()}
    await session.many(
        [
            *(calls.nudge(session.keys(queue)) for queue in queues),
            plain("DEL", _lease(session, lease)),
            plain("DEL", jobs_key(session, lease)),
            plain("DEL", stop_list(session, lease)),
            plain("SREM", workers_key(session), lease),
        ]
    )
    hands.forget(lease)
    if await leads(session, lease):
        await session.one(plain("DEL", _leader(session)))
    return sum(int(answer) >= 0 for answer in answers)


async def _lost(session: Session, held: Collection[HeldJob]) -> list[RedisCall]:
    """They go back into the queue at once, and an attempt is over."""
    back = []
    for job, record in zip(held, await _about(session, held), strict=True):
        attempt = record.attempts_made() + 2
        fields = record.begins_again(LOST, attempt) if attempt <= record.max_attempts else {}
        back.append(calls.retry(session.keys(job.queue), job.id, job.token, fields))
    return back


async def tell_of_stop(session: Session, held: Collection[HeldJob]) -> None:
    """Those that are about to be given back begin again, and say so."""
    told = []
    for job, record in zip(held, await _about(session, held), strict=True):
        for field, value in record.begins_again(STOPPED).items():
            told.append(calls.remember(session.keys(job.queue), job.id, job.token, field, value))
    await session.many(told)


async def _about(session: Session, held: Collection[HeldJob]) -> list[Record]:
    found = await session.many([plain("HMGET", session.keys(job.queue)[job.id], *_READ) for job in held])
    return [
        Record(job.queue, job.id, {name: told for name, told in zip(_READ, each, strict=True) if told is not None})
        for job, each in zip(held, found, strict=True)
    ]


async def give_back_unknown(session: Session, hands: Hands, asked: c.ReleaseUnknown) -> list[UUID]:
    known, before = set(asked.known), calls.now_ms() - asked.seconds * 1000
    held = await hands.all_of(session, asked.lease, await _queues(session, asked.lease))
    unknown = {id: job for id, job in held.items() if id not in known and job.at <= before}
    if not unknown:
        return []
    await tell_of_stop(session, unknown.values())
    back = [calls.give_back(session.keys(job.queue), job.id, job.token) for job in unknown.values()]
    nudges = [calls.nudge(session.keys(queue)) for queue in {job.queue for job in unknown.values()}]
    answers = await session.many([*back, *nudges, hands.drop(session, asked.lease, unknown)])
    return [id for id, answer in zip(unknown, answers[: len(back)], strict=True) if int(answer) >= 0]


async def workers(session: Session) -> list[tuple[Lease, dict[str, str]]]:
    """The living ones; those that ran out are forgotten."""
    leases = sorted(int(each) for each in await session.one(plain("SMEMBERS", workers_key(session))))
    found = await session.many([plain("HGETALL", _lease(session, lease)) for lease in leases])
    gone = [lease for lease, about in zip(leases, found, strict=True) if not about]
    if gone:
        await session.one(plain("SREM", workers_key(session), *gone))
    return [(Lease(lease), about) for lease, about in zip(leases, found, strict=True) if about]


async def note_worker(session: Session, said: c.ReportStatistics) -> None:
    told = {name: value for name in ("memory", "load", "slots") if (value := getattr(said, name)) is not None}
    if told:
        await session.one(calls.keep_lease(_lease(session, said.lease), told, lasts=False))


async def tend(session: Session, lease: Lease) -> c.Tended:
    """Jobs whose locks have run out go back, in every queue that is known."""
    if not await leads(session, lease):
        return c.Tended(False, None)
    # a job is marked at one look and, if nobody has kept its lock until then, taken back at the next
    every = int(await seconds_of(session, lease) * 500)
    stalled = [calls.move_stalled(session.keys(queue), every) for queue in await known_queues(session)]
    *_, told = await session.many([*stalled, lost.waiting(session)])
    return c.Tended(True, None, lost=told > 0)
