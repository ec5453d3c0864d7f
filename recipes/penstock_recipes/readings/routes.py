"""The two requests of the document: start a reading, and ask how far it is. The second is the server's own, with the
document's words added; everything else (list, stream, cancel, download) is the server's."""

from collections.abc import Iterator
from contextlib import contextmanager
from uuid import UUID

import msgspec
from fastapi import APIRouter, Request
from starlette.responses import Response

from penstock import InvalidInput, NotAllowed
from penstock.server import (
    Caller,
    CheckedRoute,
    IdempotencyKey,
    JobCaller,
    Problem,
    Shared,
    job_response,
    problems,
    start,
    visible_job,
)
from penstock_recipes.preview import preview_routes
from penstock_recipes.readings.jobs import KIND
from penstock_recipes.readings.shapes import STATUS, ReadingStatus, Start, Started, in_words_of_the_document

router = APIRouter(route_class=CheckedRoute, tags=["readings"])
router.include_router(preview_routes("/api/v1/readings/preview", "readings", KIND, "pdf_generation"))


@router.post(
    "/api/jobs/start",
    status_code=202,
    summary="Start a reading",
    response_model=Started,
    responses=problems(403, 429, 507),
)
async def start_reading(body: Start, caller: Caller, shared: Shared, key: IdempotencyKey = None) -> Response:
    with _naming_fields():
        started = await start(shared.app, caller, body.type, body.params, key=key)
    told = {"id": started.id, "jobId": started.id, "status": STATUS[started.state], "created": started.created}
    where = {"Location": f"/api/jobs/{started.id}"}
    return Response(msgspec.json.encode(told), 202, where, "application/json")


@router.api_route("/api/jobs/start", methods=["GET", "HEAD", "PUT", "PATCH", "DELETE"], include_in_schema=False)
async def refuse_method() -> Response:
    """Or it would be taken for the id of a job."""
    raise Problem(405, "send it with POST", headers={"Allow": "POST"})


@router.get(
    "/api/jobs/{id:uuid}",
    summary="How a job is doing",
    description="As the server tells it; a reading with `status`, `docsComplete` and `docsTotal` besides.",
    response_model=ReadingStatus,
    responses=problems(404) | {304: {"description": "It has not changed since the ETag in If-None-Match."}},
)
async def get_reading(id: UUID, request: Request, caller: JobCaller, shared: Shared) -> Response:
    job = await visible_job(shared, caller, id)
    adding = in_words_of_the_document if job.kind == KIND else None
    return await job_response(request, shared, caller, job, adding)


@contextmanager
def _naming_fields() -> Iterator[None]:
    """What is refused, by the names that the request has for it."""
    try:
        yield
    except InvalidInput as error:
        head, dot, rest = error.field.partition(".")
        raise type(error)(_NAMES.get(head, head) + dot + rest, error.problem) from None
    except NotAllowed as error:
        head, colon, rest = str(error).partition(":")
        raise NotAllowed(_NAMES.get(head, head) + colon + rest) from None


_NAMES = {"kind": "type", "args": "params"}
