"""What became of jobs: each report is one script of BullMQ's, which knows the claim by the token of its lock."""

import math
from collections.abc import Sequence
from typing import Any
from uuid import UUID

import msgspec

from penstock.backoff import Backoff
from penstock.engine import commands as c
from penstock.engine.bullmq import calls
from penstock.engine.bullmq.calls import RedisCall, plain
from penstock.engine.bullmq.hands import Hands, HeldJob
from penstock.engine.bullmq.leases import tell_of_stop
from penstock.engine.bullmq.queues import settings_of
from penstock.engine.bullmq.record import CANCEL, ERRORS, PARKED, PARKED_AT, SNOOZES, Record, moment, number, record_of
from penstock.engine.bullmq.reported import reported_before
from penstock.engine.bullmq.session import Session
from penstock.errors import InvalidInput
from penstock.job import Held, JobState, Lease, shown

_LONGEST = 366 * 86_400.0
"""Seconds that somebody else's job may put off its next attempt."""

_MOST = 8000
"""Characters of an error."""

_SNOOZED_OUT = "still not done after "

_encode = msgspec.json.Encoder().encode


def finish(session: Session, held: HeldJob, *, failed: bool, said: bytes | str, fields: Any = None) -> RedisCall:
    keys = session.keys(held.queue)
    return calls.finish(
        keys, held.id, held.token, failed=failed, said=said, keep=held.keep[failed], attempts=held.attempts,
        fields=fields,
    )  # fmt: skip


async def settle(
    session: Session,
    hands: Hands,
    lease: Lease,
    said: dict[UUID, tuple[HeldJob, RedisCall]],
    first: Sequence[RedisCall] = (),
    held: tuple[str, str] | None = None,
) -> set[UUID]:
    """Sends what is said of jobs; those that were still the lease's. Where a queue has a limit, whoever waits for room
    in it is woken: BullMQ's own workers look again by themselves when they have finished a job. `first`: together with
    it, as long as a lock is `held`."""
    if not said:
        return set()
    queues = sorted({held.queue for held, _ in said.values()})
    limits = [plain("HGET", session.keys(queue)["meta"], "concurrency") for queue in queues]
    asked = [*first, *(call for _, call in said.values()), *limits, hands.drop(session, lease, said)]
    answers = (await session.many(asked, together=held is not None, held=held))[len(first) :]
    limited = [queue for queue, limit in zip(queues, answers[len(said) : -1], strict=True) if limit]
    await session.many([calls.nudge(session.keys(queue)) for queue in limited])
    return {id for id, answer in zip(said, answers[: len(said)], strict=True) if int(answer) >= 0}


async def complete(session: Session, hands: Hands, asked: c.Complete) -> list[UUID]:
    held = await hands.find(session, asked.lease, asked.jobs)
    said = {
        job.id: (held[job.id], finish(session, held[job.id], failed=False, said=bytes(job.output)))
        for job in asked.jobs
        if job.id in held
    }
    accepted = await settle(session, hands, asked.lease, said)
    return [job.id for job in asked.jobs if job.id not in accepted]


async def read(session: Session, held: dict[UUID, HeldJob]) -> dict[UUID, Record]:
    found = await session.many([plain("HGETALL", session.keys(job.queue)[job.id]) for job in held.values()])
    return {
        id: record_of(job.queue, job.id, fields)
        for (id, job), fields in zip(held.items(), found, strict=True)
        if fields
    }


async def fail(session: Session, hands: Hands, asked: c.Fail) -> list[c.Became]:
    held = await hands.find(session, asked.lease, asked.jobs)
    records = await read(session, held)
    said: dict[UUID, tuple[HeldJob, RedisCall]] = {}
    became: dict[UUID, c.Became] = {}
    for job in asked.jobs:
        if (record := records.get(job.id)) is not None:
            settings = await settings_of(session, record.queue)
            call, became[job.id] = _failed(session, held[job.id], record, job.error, settings.get("backoff"))
            said[job.id] = held[job.id], call
    accepted = await settle(session, hands, asked.lease, said)
    errors = {job.id: job.error.error[:_MOST] for job in asked.jobs}
    before = await reported_before(session, [job for job in asked.jobs if job.id not in accepted], errors)
    return [became[job.id] for job in asked.jobs if job.id in accepted] + before


def _failed(
    session: Session, held: HeldJob, record: Record, error: c.AttemptError, queue_backoff: Any
) -> tuple[RedisCall, c.Became]:
    attempt = record.attempts_made() + 1
    text = error.error[:_MOST]
    entry = {"error": text, "at": moment(calls.now_ms()), "attempt": attempt}
    entry |= {name: told for name in ("type", "traceback") if (told := getattr(error, name)) is not None}
    stack = [*msgspec.json.decode(record.fields.get("stacktrace") or "[]"), error.traceback or text]
    fields = _unparked(record) | {
        "failedReason": text, "stacktrace": _encode(stack[-10:]).decode(),
        ERRORS: _encode([*record.errors, entry] if ERRORS in record.fields else [entry]).decode(),
    }  # fmt: skip
    if CANCEL in record.fields or error.final or attempt >= record.max_attempts:
        state = JobState.CANCELLED if CANCEL in record.fields else JobState.FAILED
        return finish(session, held, failed=True, said=text, fields=fields), c.Became(record.uuid, state, None)
    fields |= record.begins_again(shown(entry) or "", attempt + 1)
    seconds = error.retry_in if error.retry_in is not None else _pause(record, attempt, queue_backoff)
    ms = int(seconds * 1000)
    run_at = moment(calls.now_ms() + ms)
    keys = session.keys(held.queue)
    if ms <= 0:
        return calls.retry(keys, held.id, held.token, fields), c.Became(record.uuid, JobState.READY, run_at)
    again = calls.delay(keys, held.id, held.token, ms, counts=True, fields=fields)
    return again, c.Became(record.uuid, JobState.SCHEDULED, run_at)


def _unparked(record: Record) -> dict[str, str]:
    """Whoever has run it knows it."""
    return {PARKED: "", PARKED_AT: ""} if PARKED_AT in record.fields else {}


def _pause(record: Record, attempt: int, queue_backoff: Any) -> float:
    """Seconds until the next attempt: by our backoff, or of somebody else's job by what its options say."""
    if record.ours is not None:
        options = record.ours.get("options")
        chosen = options.get("backoff") if isinstance(options, dict) else None
        try:
            return Backoff(**(chosen or queue_backoff or {})).delay(attempt)
        except (TypeError, InvalidInput):
            return Backoff().delay(attempt)  # somebody else wrote that
    theirs = record.opts.get("backoff") or {}
    if not isinstance(theirs, dict):
        return _bounded(number(theirs) / 1000)
    base = number(theirs.get("delay")) / 1000
    return _bounded(base * 2.0 ** min(attempt - 1, 60) if theirs.get("type") == "exponential" else base)


def _bounded(seconds: float) -> float:
    return min(max(seconds, 0.0), _LONGEST) if not math.isnan(seconds) else 0.0


async def snooze(session: Session, hands: Hands, asked: c.Snooze) -> list[c.Became]:
    held = await hands.find(session, asked.lease, asked.jobs)
    records = await read(session, held)
    said: dict[UUID, tuple[HeldJob, RedisCall]] = {}
    became: dict[UUID, c.Became] = {}
    for job in asked.jobs:
        if (record := records.get(job.id)) is not None:
            call, became[job.id] = _snoozed(session, held[job.id], record, job.seconds)
            said[job.id] = held[job.id], call
    accepted = await settle(session, hands, asked.lease, said)
    refused = [job for job in asked.jobs if job.id not in accepted]
    before = await reported_before(session, refused, _SNOOZED_OUT)
    return [became[job.id] for job in asked.jobs if job.id in accepted] + before


def _snoozed(session: Session, held: HeldJob, record: Record, seconds: float) -> tuple[RedisCall, c.Became]:
    most = record.about.get("max_snoozes")
    if CANCEL in record.fields:
        call = finish(session, held, failed=True, said="cancelled")
        return call, c.Became(record.uuid, JobState.CANCELLED, None)
    if most is not None and record.snoozes >= most:
        call = finish(session, held, failed=True, said=f"{_SNOOZED_OUT}{record.snoozes} snoozes")
        return call, c.Became(record.uuid, JobState.FAILED, None)
    # at least a millisecond: moveToDelayed is what leaves the attempt uncounted
    ms = max(int(seconds * 1000), 1)
    fields = _unparked(record) | {SNOOZES: str(record.snoozes + 1)}
    call = calls.delay(session.keys(held.queue), held.id, held.token, ms, counts=False, fields=fields)
    return call, c.Became(record.uuid, JobState.SCHEDULED, moment(calls.now_ms() + ms))


async def release(session: Session, hands: Hands, lease: Lease, jobs: Sequence[Held]) -> list[UUID]:
    held = await hands.find(session, lease, jobs)
    await tell_of_stop(session, held.values())
    said = {id: (job, calls.give_back(session.keys(job.queue), job.id, job.token)) for id, job in held.items()}
    accepted = await settle(session, hands, lease, said)
    await session.many([calls.nudge(session.keys(queue)) for queue in {job.queue for job in held.values()}])
    return [job.id for job in jobs if job.id in accepted]


async def stop_cancelled(session: Session, hands: Hands, asked: c.StopCancelled) -> list[UUID]:
    held = await hands.find(session, asked.lease, asked.jobs)
    said = {
        id: (job, finish(session, job, failed=True, said=asked.reason, fields={CANCEL: asked.reason}))
        for id, job in held.items()
    }
    accepted = await settle(session, hands, asked.lease, said)
    return [job.id for job in asked.jobs if job.id in accepted]


async def report_progress(session: Session, hands: Hands, asked: c.ReportProgress) -> list[c.Wanted]:
    held = await hands.find(session, asked.lease, asked.jobs)
    records = await read(session, held)
    told = [job for job in asked.jobs if job.id in records]
    reports = []
    for job in told:
        record = records[job.id]
        merged = record.progress | msgspec.to_builtins(job.progress)
        reports.append(calls.report(session.keys(record.queue), record.id, _encode(merged)))
    answers = await session.many(reports)
    return [
        c.Wanted(job.id, CANCEL in records[job.id].fields)
        for job, answer in zip(told, answers, strict=True)
        if int(answer) >= 0
    ]
