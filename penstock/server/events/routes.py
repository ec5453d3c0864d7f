"""Events for jobs that wait, from a back end in any language."""

from fastapi import APIRouter
from starlette.responses import Response

from penstock.server.dependencies import Service, Shared
from penstock.server.http import models
from penstock.server.http.route import CheckedRoute
from penstock.server.http.statuses import problems
from penstock.server.jobs.shapes import encode

router = APIRouter(route_class=CheckedRoute, tags=["events"])


@router.post(
    "/api/events",
    status_code=202,
    summary="Tell a job what it waits for",
    response_model=models.Emitted,
    responses=problems(403),
)
async def emit_event(body: models.EventRequest, _: Service, shared: Shared) -> Response:
    """With the service key. The event goes to the job that has waited longest for it and this key, or, when none waits,
    to the first that does within `keep` seconds. Each event goes to one job."""
    job = await shared.app.aemit(body.event, key=body.key, payload=body.payload, keep=body.keep)
    return Response(encode({"job": job}), 202, media_type="application/json")
