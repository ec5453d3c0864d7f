"""Jobs that their worker does not know: put aside at no cost of an attempt, until one comes that knows them, or for too
long. As park.sql does it."""

import math
from datetime import timedelta
from typing import Any
from uuid import UUID

import msgspec

from penstock.engine import commands as c
from penstock.engine.bullmq import calls
from penstock.engine.bullmq.calls import RedisCall, now_ms, plain
from penstock.engine.bullmq.hands import Hands, HeldJob
from penstock.engine.bullmq.leases import workers
from penstock.engine.bullmq.outcomes import finish, read, settle
from penstock.engine.bullmq.queues import known_queues, settings_of
from penstock.engine.bullmq.record import CANCEL, ERRORS, PARKED, PARKED_AT, UNRUN, Record, moment, number
from penstock.engine.bullmq.reported import reported_before
from penstock.engine.bullmq.session import Session
from penstock.job import JobState

_TIMEOUT = 3 * 86_400.0
"""Seconds after which it has failed, where its queue says nothing else."""

_NOBODY_CAME = "no worker that knows it came "

_encode = msgspec.json.Encoder().encode


async def park(session: Session, hands: Hands, asked: c.Park) -> list[c.Became]:
    held = await hands.find(session, asked.lease, asked.jobs)
    records = await read(session, held)
    known = {kind for _, about in await workers(session) for kind in msgspec.json.decode(about.get("kinds") or "[]")}
    said: dict[UUID, tuple[HeldJob, RedisCall]] = {}
    became: dict[UUID, c.Became] = {}
    aside: list[Record] = []
    for job in asked.jobs:
        if (record := records.get(job.id)) is not None:
            settings = await settings_of(session, record.queue)
            timeout = settings.get("parked_timeout") or _TIMEOUT
            call, became[job.id] = _parked(
                session, held[job.id], record, job.reason, timeout, most=30.0 if record.kind in known else 300.0
            )
            said[job.id] = held[job.id], call
            if not became[job.id].state.final:
                aside.append(record)
    accepted = await settle(session, hands, asked.lease, said)
    marks = [plain("HSET", session.keys(each.queue)["ps:parked"], each.id, each.kind) for each in aside]
    await session.many(marks)
    refused = [job for job in asked.jobs if job.id not in accepted]
    before = await reported_before(session, refused, _NOBODY_CAME)
    return [became[job.id] for job in asked.jobs if job.id in accepted] + before


def _parked(
    session: Session, held: HeldJob, record: Record, reason: str, timeout: float, *, most: float
) -> tuple[RedisCall, c.Became]:
    """`most`: seconds between two looks at it."""
    now = now_ms()
    since = int(number(record.fields.get(PARKED_AT))) or now
    age = max(0.0, (now - since) / 1000)
    if CANCEL in record.fields:
        call = finish(session, held, failed=True, said="cancelled", fields={UNRUN: "1"})
        return call, c.Became(record.uuid, JobState.CANCELLED, None)
    if age >= timeout:
        text = f"{_NOBODY_CAME}within {timedelta(seconds=timeout)}: {reason}"[:8000]
        error = {"error": text, "type": "Parked", "at": moment(now)}
        errors = [*record.errors, error] if ERRORS in record.fields else [error]
        call = finish(session, held, failed=True, said=text, fields={ERRORS: _encode(errors).decode(), UNRUN: "1"})
        return call, c.Became(record.uuid, JobState.FAILED, None)
    pause = math.ceil(min(max(age / 2, 1.0), most, timeout - age) * 1000)
    fields = {PARKED: reason, PARKED_AT: str(since)}
    call = calls.delay(session.keys(held.queue), held.id, held.token, pause, counts=False, fields=fields)
    return call, c.Became(record.uuid, JobState.SCHEDULED, moment(now + pause))


async def parked_jobs(session: Session) -> list[c.ParkedCount]:
    found = []
    for queue in await known_queues(session):
        keys = session.keys(queue)
        parked: dict[str, str] = await session.one(plain("HGETALL", keys["ps:parked"]))
        said = await session.many([plain("HMGET", keys[id], PARKED, PARKED_AT, "finishedOn") for id in parked])
        waiting = {id: each for id, each in zip(parked, said, strict=True) if each[0] and each[2] is None}
        gone = [id for id in parked if id not in waiting]
        if gone:
            await session.one(plain("HDEL", keys["ps:parked"], *gone))
        by_kind: dict[str, list[Any]] = {}
        for id, each in waiting.items():
            by_kind.setdefault(parked[id], []).append(each)
        for kind, each in sorted(by_kind.items()):
            since = min(number(at) for _, at, _ in each)
            found.append(c.ParkedCount(queue, kind, len(each), moment(since), min(reason for reason, *_ in each)))
    return found
