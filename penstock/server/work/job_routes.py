"""What belongs to a job in a worker's hands: its steps, the outputs of what it waited for, its files."""

from typing import Annotated, Any
from uuid import UUID

import msgspec
from fastapi import APIRouter, Path, Query, Request
from starlette.responses import Response

from penstock.engine import calls
from penstock.engine.http import messages
from penstock.errors import InvalidInput
from penstock.job import Lease
from penstock.json import encode_output, loads
from penstock.server.dependencies import Services, Shared
from penstock.server.http.problems import Problem
from penstock.server.http.route import CheckedRoute
from penstock.server.http.statuses import problems
from penstock.server.work import models

router = APIRouter(route_class=CheckedRoute)

LeaseAsked = Annotated[int, Query(ge=0, le=2**53, description="The worker's lease.")]
ClaimsAsked = Annotated[int, Query(ge=0, le=2**31 - 1, description="`claims` of the job as it was claimed.")]
Name = Annotated[str, Path(min_length=1, max_length=500, pattern=r"^[^\x00]+$")]
_GONE = problems(403, 410)
_encode = msgspec.json.Encoder().encode


def _answer(message: object) -> Response:
    return Response(_encode(message), media_type="application/json")


@router.put(
    "/jobs/{id}/steps/{name:path}",
    summary="Remember the result of a step",
    description="The body is any JSON. A later attempt gets it from the list of steps, and does not repeat the step.",
    response_model=models.StepAccepted,
    responses=problems(403, 404),
    openapi_extra={
        "requestBody": {
            "required": True,
            "content": {"application/json": {"schema": {}, "example": {"rows": 3}}},
        }
    },
)
async def remember_step(
    id: UUID, name: Name, request: Request, shared: Shared, lease: LeaseAsked, claims: ClaimsAsked
) -> Response:
    try:
        output = encode_output(loads(await request.body()))
    except (msgspec.MsgspecError, UnicodeDecodeError):
        raise InvalidInput("body", "is not JSON") from None
    except RecursionError:
        raise InvalidInput("body", "is nested too deeply") from None
    held = models.Held(id=id, claims=claims)
    accepted = await shared.app.engine.arun(calls.remember_step(Lease(lease), held, name, output))
    return _answer(messages.Accepted(accepted))


@router.get(
    "/jobs/{id}/steps",
    summary="The steps an earlier attempt finished",
    response_model=dict[str, Any],
    responses=_GONE,
)
async def recall_steps(id: UUID, shared: Shared, lease: LeaseAsked, claims: ClaimsAsked) -> Response:
    await refuse_others(shared, Lease(lease), id, claims)
    return _answer(await shared.app.engine.arun(calls.recall_steps(id)))


@router.get(
    "/jobs/{id}/outputs",
    summary="What came of the jobs this one waited for",
    response_model=list[models.EarlierJob],
    responses=_GONE,
)
async def list_outputs(id: UUID, shared: Shared, lease: LeaseAsked, claims: ClaimsAsked) -> Response:
    await refuse_others(shared, Lease(lease), id, claims)
    return _answer(await shared.app.engine.arun(calls.outputs(id)))


async def refuse_others(shared: Services, lease: Lease, id: UUID, claims: int) -> None:
    if not await shared.app.engine.arun(calls.holds(lease, id, claims)):
        raise Problem(410, f"job {id} is not this lease's by this claim: forget it")
