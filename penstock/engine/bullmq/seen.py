"""Jobs as a server shows them, and all that are below one."""

from uuid import UUID

from penstock.engine import commands as c
from penstock.engine.bullmq import calls, index, looks
from penstock.engine.bullmq.rollup import jobs_below
from penstock.engine.bullmq.session import Session
from penstock.job import Job, JobState


async def see_job(session: Session, id: UUID, *, whole: bool) -> c.SeenJob | None:
    """`whole`: with the errors of its attempts."""
    job = await looks.get_job(session, id)
    return None if job is None else _shown(job, whole=whole)


async def see_jobs(session: Session, asked: c.SeeJobs) -> list[c.SeenJob]:
    filter = dict(asked.filter)
    if filter.get("ids") is not None:
        filter["ids"] = [UUID(str(id)) for id in filter["ids"]]
    return [_shown(job) for job in await looks.list_jobs(session, filter, asked.before, asked.limit)]


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
