"""The answer to whoever asks for a job, with the ETag by which it is asked for again."""

import time
from collections.abc import Callable, Mapping
from typing import Any

from starlette.requests import Request
from starlette.responses import Response

from penstock.engine.commands import SeenJob
from penstock.job import JobState
from penstock.server.auth.identity import Identity
from penstock.server.dependencies import Services
from penstock.server.files.links import artifact_links
from penstock.server.jobs.shapes import encode, job_shape, service_shape, version_of, worker_shape

Shape = Mapping[str, Any]
"""A job as the API shows it."""


async def job_response(
    request: Request,
    services: Services,
    caller: Identity,
    job: SeenJob,
    adding: Callable[[Shape], Shape] | None = None,
) -> Response:
    """As `GET /api/jobs/{id}` answers: 304 to whoever knows it already. `adding` makes of that what a route of an
    application's own tells besides, for clients with words of their own."""
    artifacts = await artifact_links(services, job.artifacts or ())
    shaped = service_shape if caller.is_service else job_shape
    asked = caller.is_service and job.state is JobState.RUNNING
    holder = await services.app.workers.aholder_of(job.id) if asked else None
    also = {} if holder is None else {"worker": worker_shape(holder)}

    def told(links: list[dict[str, Any]]) -> bytes:
        shape = shaped(job, links) | also
        return encode(shape if adding is None else adding(shape))

    body = told(artifacts)
    # links are signed for some time: a client that is told "not changed" must not be left with dead ones
    period = int(time.time() // (services.settings.link_seconds / 2)) if artifacts else 0
    stable = told([{**link, "url": None} for link in artifacts]) if artifacts else body
    etag = f'W/"{version_of(stable)}-{period}"'
    headers = {"ETag": etag, "Cache-Control": "private, no-cache", "Vary": "Authorization"}
    if etag in [tag.strip() for tag in request.headers.get("if-none-match", "").split(",")]:
        return Response(status_code=304, headers=headers)
    return Response(body, headers=headers, media_type="application/json")
