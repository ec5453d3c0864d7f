"""What jobs ask of people, and the answers."""

from typing import Annotated
from uuid import UUID

import msgspec
from fastapi import APIRouter, Query
from starlette.responses import Response

from penstock.engine import commands
from penstock.server.dependencies import Caller, Service, Shared
from penstock.server.http import models
from penstock.server.http.problems import Problem, not_found
from penstock.server.http.route import CheckedRoute
from penstock.server.http.statuses import problems
from penstock.server.jobs.shapes import encode
from penstock.server.jobs.visible import run_for, visible_job

router = APIRouter(route_class=CheckedRoute, tags=["events"])

_JSON = "application/json"


@router.post(
    "/api/jobs/{id}/approve",
    summary="Answer what a job asks",
    response_model=models.Approved,
    responses=problems(403, 404, 409),
)
async def approve_job(id: UUID, body: models.ApprovalRequest, caller: Caller, shared: Shared) -> Response:
    """By the service, or by the job's owner where it asks its owner. The first answer counts."""
    step: str | None
    if caller.is_service:
        await visible_job(shared, caller, id)
        answer = commands.Approve(id, body.approved, body.by or caller.name, body.comment, body.step)
        step = await shared.app.engine.arun(answer)
    elif body.by is not None:
        raise Problem(403, "by: is for the service only")
    else:
        own = commands.ApproveMine(id, body.approved, body.comment, body.step)
        step = await shared.app.database.arun_as(caller.role, caller.claims, own)
        if step is None:
            raise not_found()
    return Response(encode({"id": id, "step": step}), media_type=_JSON)


@router.get(
    "/api/jobs/{id}/approval",
    summary="What a job asks",
    response_model=models.Asked,
    responses=problems(404),
)
async def show_approval(id: UUID, caller: Caller, shared: Shared) -> Response:
    """For whoever may answer: the service, or the job's owner where it asks its owner. 404 when it asks nothing, or
    others."""
    await visible_job(shared, caller, id)
    asked = await run_for(shared, caller, service=commands.AskedOfJob(id), user=commands.AskedOfMine(id))
    if asked is None:
        raise Problem(404, "the job asks you nothing")
    return Response(encode(_shape(asked)), media_type=_JSON)


@router.get(
    "/api/approvals",
    summary="What waits for a person",
    response_model=models.ApprovalPage,
    responses=problems(403),
)
async def list_approvals(
    _: Service,
    shared: Shared,
    cursor: Annotated[models.ApprovalCursor | None, Query(description="`next_cursor` of the page before.")] = None,
    limit: Annotated[int, Query(ge=1, le=200)] = 50,
) -> Response:
    """With the service key: what jobs ask and nobody has answered, jobs that came first before others."""
    asked = await shared.app.engine.arun(commands.Approvals(cursor, limit + 1))
    more = asked[limit - 1].cursor if len(asked) > limit else None
    shown = [_shape(each) for each in asked[:limit]]
    return Response(encode({"approvals": shown, "next_cursor": more}), media_type=_JSON)


def _shape(asked: commands.AskedApproval) -> dict[str, object]:
    return {name: value for name, value in msgspec.structs.asdict(asked).items() if name != "cursor"}
