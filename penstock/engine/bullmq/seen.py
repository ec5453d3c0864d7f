"""Jobs that are known: by their ids, by the flow that they are in, and as a server shows them."""

import asyncio
from collections.abc import Mapping, Sequence
from typing import Any
from uuid import UUID

from penstock.engine import commands as c
from penstock.engine.bullmq import calls, index, looks
from penstock.engine.bullmq.record import Record
from penstock.engine.bullmq.rollup import jobs_below
from penstock.engine.bullmq.session import Session
from penstock.errors import EngineCannot
from penstock.job import Job, JobState


async def list_jobs(session: Session, filter: Mapping[str, Any], before: UUID | None, limit: int) -> list[Job]:
    """Newest first."""
    named = any(filter.get(name) is not None for name in ("ids", "parent"))
    return await (_list_named if named else looks.list_jobs)(session, filter, before, limit)


async def _list_named(session: Session, filter: Mapping[str, Any], before: UUID | None, limit: int) -> list[Job]:
    """By their ids, or by the flow that they are in."""
    if len(given := [name for name, value in filter.items() if value is not None]) > 1:
        raise EngineCannot("search", f"jobs on BullMQ are listed by {given[0]} or by {given[1]}, not by both")
    ids = [UUID(str(id)) for id in filter.get("ids") or ()]
    parent = filter.get("parent")
    for flow in [parent] if isinstance(parent, UUID) else parent or ():
        ids += [record.uuid for record in await _below(session, flow) if record.flow == flow]
    newest = sorted((id for id in dict.fromkeys(ids) if before is None or id < before), reverse=True)
    found = await asyncio.gather(*(looks.get_job(session, id) for id in newest[:limit]))
    return [job for job in found if job is not None]


async def see_job(session: Session, id: UUID, *, whole: bool) -> c.SeenJob | None:
    """As it is shown; `whole`: with the errors of its attempts."""
    job = await looks.get_job(session, id)
    return None if job is None else _shown(job, whole=whole)


async def see_jobs(session: Session, asked: c.SeeJobs) -> list[c.SeenJob]:
    return [_shown(job) for job in await list_jobs(session, asked.filter, asked.before, asked.limit)]


def _shown(job: Job, *, whole: bool = False) -> c.SeenJob:
    told = {name: getattr(job, name) for name in c.SeenJob.__struct_fields__ if hasattr(job, name)}
    over = job.state in (JobState.FAILED, JobState.CANCELLED)
    errors = job.errors if whole else None
    return c.SeenJob(**told | {"rollup": None, "error": job.shown_error if over else None, "errors": errors})


async def tree_of(session: Session, id: UUID) -> list[c.TreeJob]:
    """A job and everything below it."""
    top = (await index.records(session, [id])).get(id)
    if top is None:
        return []
    records = [top, *await jobs_below(session, top)]
    states = await session.many([calls.state_of(session.keys(each.queue), each.id) for each in records])
    tree = [c.TreeJob(each.uuid, each.kind, each.state(at)) for each, at in zip(records, states, strict=True)]
    return sorted(tree, key=lambda job: job.id)


async def _below(session: Session, id: UUID) -> Sequence[Record]:
    top = (await index.records(session, [id])).get(id)
    return [] if top is None else await jobs_below(session, top)
