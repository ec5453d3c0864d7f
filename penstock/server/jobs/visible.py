"""Reading on a caller's behalf: the service sees everything, a user what the database's policies let them see."""

from collections.abc import Sequence
from typing import TypeVar
from uuid import UUID

from penstock.engine import commands
from penstock.engine.commands import SeenJob
from penstock.engine.postgres.engine import Asked
from penstock.server.auth.identity import Identity
from penstock.server.dependencies import Services
from penstock.server.http.problems import not_found

T = TypeVar("T")


async def run_for(services: Services, caller: Identity, *, service: Asked[T], user: Asked[T]) -> T:
    """Runs the one or the other, by who asks."""
    engine = services.app.database
    return await (engine.arun(service) if caller.is_service else engine.arun_as(caller.role, caller.claims, user))


def is_theirs(caller: Identity, job: SeenJob) -> bool:
    """As the database's policies say, of a job that is not there."""
    return caller.is_service or (job.owner is not None and job.owner == caller.subject) or job.org in caller.orgs


async def visible_jobs(services: Services, caller: Identity, ids: Sequence[UUID]) -> list[SeenJob]:
    """Those of these that the caller may see, newest first, without what they made."""
    which: dict[str, object] = {"ids": [str(id) for id in ids]}
    if not services.app.engine.capabilities.database:
        found = await services.app.engine.arun(commands.SeeJobs(which, None, len(ids)))
        return [job for job in found if is_theirs(caller, job)]
    service, user = commands.SeeJobs(which, None, len(ids)), commands.SeeMyJobs(which, None, len(ids))
    return await run_for(services, caller, service=service, user=user)


async def visible_job(services: Services, caller: Identity, id: UUID) -> SeenJob:
    """The job, or 404: also when it is somebody else's."""
    if caller.watches is not None:
        job = await services.app.engine.arun(commands.SeeJob(id)) if caller.watches == id else None
    elif not services.app.engine.capabilities.database:
        asked = commands.SeeWholeJob(id) if caller.is_service else commands.SeeJob(id)
        found = await services.app.engine.arun(asked)
        job = found if found is not None and is_theirs(caller, found) else None
    else:
        job = await run_for(services, caller, service=commands.SeeWholeJob(id), user=commands.SeeMyJob(id))
    if job is None:
        raise not_found()
    return job
