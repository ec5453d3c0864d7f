"""Jobs over HTTP where they are not in the database: one can be looked at, followed and cancelled. What else the API
has reads or writes them in Postgres, and is refused by name."""

from uuid import UUID

from fastapi import APIRouter, Request
from starlette.responses import Response

from penstock.errors import EngineCannot
from penstock.job import JobState
from penstock.server.dependencies import Caller, Shared
from penstock.server.http import models
from penstock.server.http.problems import Problem
from penstock.server.http.route import CheckedRoute
from penstock.server.http.statuses import problems
from penstock.server.jobs import routes
from penstock.server.jobs.shapes import encode
from penstock.server.jobs.visible import visible_job
from penstock.server.live.follow import JobCaller

router = APIRouter(route_class=CheckedRoute, tags=["jobs"])
refused = APIRouter(include_in_schema=False)
"""Comes last: what no other route has answered."""

_ANY = ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE"]


@refused.api_route("/api/{path:path}", methods=_ANY)
@refused.api_route("/rest/{path:path}", methods=_ANY)
# or they would be taken for the id of a job
@router.api_route("/api/jobs/batch", methods=_ANY, include_in_schema=False)
@router.api_route("/api/jobs/tick", methods=_ANY, include_in_schema=False)
async def refuse() -> Response:
    raise EngineCannot(
        "database", "this is for jobs in Postgres, and those of this server are in Redis: start them in Python or Node"
    )


@router.get(
    "/api/jobs/{id}",
    summary="How a job is doing",
    response_model=models.Job,
    responses=problems(404) | {304: {"description": "It has not changed since the ETag in If-None-Match."}},
)
async def get_job(id: UUID, request: Request, caller: JobCaller, shared: Shared) -> Response:
    return await routes.get_job(id, request, caller, shared)


@router.delete(
    "/api/jobs/{id}", summary="Cancel a job or a flow", response_model=models.Cancelled, responses=problems(404, 409)
)
async def cancel_job(id: UUID, caller: Caller, shared: Shared) -> Response:
    await visible_job(shared, caller, id)
    if caller.is_service:
        reached = await shared.operator(caller).acancel_jobs(id, reason="cancelled by the service")
    else:
        reached = await shared.app.jobs.acancel(id, reason="cancelled by its owner")
    state = (await visible_job(shared, caller, id)).state
    if not reached and state is not JobState.CANCELLED:
        raise Problem(409, "it has ended already")
    answer = {"id": id, "state": state, "cancel_requested": not state.final}
    return Response(encode(answer), media_type="application/json")
