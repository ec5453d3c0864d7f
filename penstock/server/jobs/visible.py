"""Reading on a caller's behalf: the service sees everything, a user what the database's policies let them see."""

from collections.abc import Sequence
from typing import TypeVar
from uuid import UUID

from penstock.engine import calls
from penstock.engine.call import Call
from penstock.engine.calls import SeenJob
from penstock.server.auth.identity import Identity
from penstock.server.dependencies import Services
from penstock.server.http.problems import not_found

T = TypeVar("T")


async def run_for(services: Services, caller: Identity, *, service: Call[T], user: Call[T]) -> T:
    """Runs the one call or the other, by who asks."""
    engine = services.app.engine
    return await (engine.arun(service) if caller.is_service else engine.arun_as(caller.role, caller.claims, user))


async def visible_jobs(services: Services, caller: Identity, ids: Sequence[UUID]) -> list[SeenJob]:
    """Those of these that the caller may see, newest first, without what they made."""
    which: dict[str, object] = {"ids": [str(id) for id in ids]}
    service, user = calls.see_jobs(which, None, len(ids)), calls.see_my_jobs(which, None, len(ids))
    return await run_for(services, caller, service=service, user=user)


async def visible_job(services: Services, caller: Identity, id: UUID) -> SeenJob:
    """The job, or 404: also when it is somebody else's."""
    if caller.watches is not None:
        job = await services.app.engine.arun(calls.see_job(id)) if caller.watches == id else None
    else:
        job = await run_for(services, caller, service=calls.see_whole_job(id), user=calls.see_my_job(id))
    if job is None:
        raise not_found()
    return job
