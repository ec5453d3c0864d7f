"""What operators do. Redis has no transaction over it: the change comes first, then the line about it, and an action
over many jobs is over when it returns."""

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any
from uuid import UUID

import msgspec

from penstock.engine import commands as c
from penstock.engine.bullmq import calls, changes, index, looks
from penstock.engine.bullmq.calls import plain
from penstock.engine.bullmq.record import Record
from penstock.engine.bullmq.refusal import cannot
from penstock.engine.bullmq.retry import retry
from penstock.engine.bullmq.session import Session
from penstock.job import Job, JobState

_LINES = 10_000
"""Of what operators did that are kept."""

_LIVE = (JobState.BLOCKED, JobState.SCHEDULED, JobState.READY, JobState.RUNNING)
_NOT_STARTED = (JobState.BLOCKED, JobState.SCHEDULED, JobState.READY)
_LOST = (JobState.FAILED, JobState.CANCELLED)
_ENDED = (*_LOST, JobState.SUCCEEDED)
_ABOUT: Mapping[str, tuple[Sequence[JobState], Sequence[JobState]]] = {
    "retry": ((JobState.FAILED,), _LOST),
    "cancel": (_LIVE, _LIVE),
    "purge": ((JobState.FAILED,), _ENDED),
    "set_priority": (_NOT_STARTED, _NOT_STARTED),
}
"""By action: the states that it is about unless told otherwise, and those that it may be told of."""

_line = msgspec.json.Decoder(c.AuditLine).decode


async def _chosen(session: Session, action: str, filter: Mapping[str, Any]) -> list[Job]:
    if action not in _ABOUT:
        raise cannot("database", "moving jobs to another queue")
    usual, possible = _ABOUT[action]
    named = filter.get("state") is not None or filter.get("ids") is not None
    found = await looks.find_jobs(session, filter)
    if filter.get("ids") is None:
        found = [seen for seen in found if not _is_next_of_schedule(*seen)]
    return [job for _, job in found if job.state in (possible if named else usual)]


def _is_next_of_schedule(record: Record, job: Job) -> bool:
    """It is there long before its time, and is no job yet to whoever does not name it."""
    return "rjk" in record.fields and job.state is JobState.SCHEDULED and not record.claims


async def preview(session: Session, asked: c.PreviewOperation) -> c.Preview:
    return c.Preview(len(await _chosen(session, asked.action, asked.filter)), exact=True)


async def operate(session: Session, asked: c.StartOperation) -> c.Operation:
    began = datetime.now(UTC)
    jobs = await _chosen(session, asked.action, asked.filter)
    done = await _change(session, asked.action, [job.id for job in jobs], asked.options)
    told = {"filter": msgspec.to_builtins(asked.filter), **asked.options}
    await add_audit(session, c.AddAudit(asked.who, asked.action, None, told, len(done)))
    return c.Operation(
        id=asked.id, action=asked.action, state="done", who=asked.who, filter=dict(asked.filter),
        options=dict(asked.options), total=len(jobs), total_is_exact=True, done=len(done), error=None,
        created_at=began, finished_at=datetime.now(UTC),
    )  # fmt: skip


async def _change(session: Session, action: str, ids: list[UUID], options: Mapping[str, Any]) -> list[UUID]:
    match action:
        case "retry":
            return await retry(session, ids, options.get("queue"), leave_taken=True)
        case "cancel":
            return await changes.cancel(session, ids, options.get("reason") or "cancelled")
        case "set_priority":
            return await changes.set_priority(session, ids, options["priority"])
        case _:
            return await _remove(session, ids)


async def _remove(session: Session, ids: list[UUID]) -> list[UUID]:
    found = await index.places(session, ids)
    gone = await session.many([calls.remove(keys, own) for keys, own in found.values()])
    return [id for id, answer in zip(found, gone, strict=True) if int(answer) == 1]


async def retry_where(session: Session, asked: c.RetryWhere) -> list[UUID]:
    jobs = await _chosen(session, "retry", asked.filter)
    return await retry(session, [job.id for job in jobs], asked.queue, leave_taken=True)


async def purge_where(session: Session, asked: c.PurgeWhere) -> int:
    jobs = await _chosen(session, "purge", asked.filter)
    return len(await _remove(session, [job.id for job in jobs]))


async def add_audit(session: Session, asked: c.AddAudit) -> None:
    key = session.names.own("audit")
    number = int(await session.one(plain("INCR", f"{key}:lines")))
    line = c.AuditLine(
        number, datetime.now(UTC), asked.who, asked.action, asked.target, dict(asked.details), asked.jobs
    )
    await session.many([plain("LPUSH", key, msgspec.json.encode(line)), plain("LTRIM", key, 0, _LINES - 1)])


async def list_audit(session: Session, asked: c.ListAudit) -> list[c.AuditLine]:
    lines = [_line(text) for text in await session.one(plain("LRANGE", session.names.own("audit"), 0, -1))]
    lines.sort(key=lambda line: line.number, reverse=True)
    return [line for line in lines if asked.before is None or line.number < asked.before][: asked.limit]
