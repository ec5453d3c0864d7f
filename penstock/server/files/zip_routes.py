"""Everything that a job or a batch has made, as one ZIP."""

from typing import Annotated, Any
from uuid import UUID

from fastapi import APIRouter, Query
from starlette.responses import Response

from penstock.artifact import Artifact
from penstock.engine import commands
from penstock.flow import BATCH
from penstock.job import JobState
from penstock.server.auth.identity import Identity
from penstock.server.dependencies import Caller, Services, Shared
from penstock.server.files.zip import send_zip
from penstock.server.http import models
from penstock.server.http.problems import Problem
from penstock.server.http.route import CheckedRoute
from penstock.server.http.statuses import problems
from penstock.server.jobs.shapes import encode
from penstock.server.jobs.visible import run_for, visible_job

router = APIRouter(route_class=CheckedRoute)

_ZIP: dict[str, Any] = {"application/zip": {"schema": {"type": "string", "format": "binary"}}}


@router.get(
    "/api/jobs/{id}/download",
    summary="Download what a job or a batch has made, as a ZIP",
    response_class=Response,
    responses=problems(404, 410)
    | {
        200: {"description": "The artifacts of the job and of everything below it.", "content": _ZIP},
        206: {
            "model": models.Partial,
            "description": "Not everything has succeeded: what has; with `partial=true`, a ZIP of it.",
            "content": _ZIP,
        },
    },
)
async def download_zip(
    id: UUID,
    caller: Caller,
    shared: Shared,
    partial: Annotated[bool, Query(description="The ZIP also when not everything has succeeded.")] = False,
) -> Response:
    await visible_job(shared, caller, id)
    tree = commands.JobTree(id)
    if shared.app.engine.capabilities.database:
        jobs = await run_for(shared, caller, service=tree, user=tree)
    else:
        jobs = await shared.app.engine.arun(tree)  # a flow that may be seen may be seen as a whole
    members = [job for job in jobs if job.kind != BATCH] or jobs
    done = [job.id for job in members if job.state is JobState.SUCCEEDED]
    complete = len(done) == len(members)
    if not done:
        raise Problem(404, "nothing has succeeded yet")
    if not complete and not partial:
        told = {
            "message": "not everything has succeeded yet",
            "done": len(done),
            "total": len(members),
            "jobs": done,
        }
        return Response(encode(told), 206, media_type="application/json")
    artifacts = await _artifacts(shared, caller, done)
    return await send_zip(shared, artifacts, f"{id}.zip", 200 if complete else 206)


async def _artifacts(services: Services, caller: Identity, jobs: list[UUID]) -> list[Artifact]:
    call = commands.ArtifactsOfJobs(jobs)
    found = await run_for(services, caller, service=call, user=call)
    current = [artifact for artifact in found if not artifact.expired]
    if found and not current:
        raise Problem(410, "everything has expired and has been deleted")
    if not current:
        raise Problem(404, "there are no artifacts")
    return current
