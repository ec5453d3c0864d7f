"""Artifacts: what they are, links to them, and their bytes."""

import time
from datetime import UTC, datetime
from typing import Annotated, Any, Literal
from uuid import UUID

from fastapi import APIRouter, Query, Request
from starlette.responses import RedirectResponse, Response

from penstock.artifact import Artifact
from penstock.engine import commands
from penstock.server.auth.identity import Identity
from penstock.server.dependencies import Caller, Services, Shared
from penstock.server.files import zip_routes
from penstock.server.files.links import link_to
from penstock.server.files.send import send_file
from penstock.server.files.signing import links_for
from penstock.server.http import models
from penstock.server.http.problems import Problem
from penstock.server.http.route import CheckedRoute
from penstock.server.http.statuses import problems
from penstock.server.jobs.shapes import artifact_shape, encode
from penstock.server.jobs.visible import run_for

router = APIRouter(route_class=CheckedRoute, tags=["artifacts"])
router.include_router(zip_routes.router)

_JSON = "application/json"
_PRIVATE = {"Cache-Control": "private, no-store"}


async def _visible(services: Services, caller: Identity, id: UUID) -> Artifact:
    """The artifact, or 404 when it is not the caller's, or 410 when its time is over."""
    call = commands.ArtifactsById([id])
    return _current(await run_for(services, caller, service=call, user=call))


def _current(found: list[Artifact]) -> Artifact:
    if not found:
        raise _unknown()
    if found[0].expired:
        raise Problem(410, "it has expired and has been deleted")
    return found[0]


def _unknown() -> Problem:
    return Problem(404, "there is no such artifact, or it is not yours")


@router.get(
    "/api/artifacts/{id}", summary="What an artifact is", response_model=models.Artifact, responses=problems(404, 410)
)
async def get_artifact(id: UUID, caller: Caller, shared: Shared) -> Response:
    artifact = await _visible(shared, caller, id)
    return Response(encode(artifact_shape(artifact)), headers=_PRIVATE, media_type=_JSON)


@router.get(
    "/api/artifacts/{id}/download",
    summary="Download an artifact",
    description="Sends you to a link that works for a while; counted as a download.",
    response_model=models.DownloadLink,
    responses=problems(404, 410)
    | {307: {"description": "To the link.", "headers": {"Location": {"schema": {"type": "string"}}}}},
)
async def download_artifact(
    id: UUID,
    caller: Caller,
    shared: Shared,
    format: Annotated[Literal["redirect", "json"], Query(description="`json` tells the link instead.")] = "redirect",
) -> Response:
    artifact = await _visible(shared, caller, id)
    url, expires = await link_to(shared, artifact, "counted")
    await shared.app.engine.arun(commands.CountDownloads([id]))
    if format == "redirect":
        return RedirectResponse(url, 307, _PRIVATE)
    answer = {"url": url, "expires_at": datetime.fromtimestamp(expires, UTC)}
    return Response(encode(answer), headers=_PRIVATE, media_type=_JSON)


@router.delete(
    "/api/artifacts/{id}",
    summary="Delete an artifact",
    status_code=204,
    response_class=Response,
    responses=problems(403, 404),
)
async def delete_artifact(id: UUID, caller: Caller, shared: Shared) -> Response:
    call = commands.ArtifactsById([id])
    found = await run_for(shared, caller, service=call, user=call)
    if not found:
        raise _unknown()
    if not (caller.is_service or shared.settings.members_delete or found[0].owner in (None, caller.subject)):
        raise Problem(403, "it is shared with you; only its owner deletes it")
    delete = shared.operator(caller).adelete_artifacts if caller.is_service else shared.app.artifacts.adelete
    if not await delete(id):
        raise _unknown()
    return Response(status_code=204)


_BYTES: dict[str, Any] = {"content": {"*/*": {"schema": {"type": "string", "format": "binary"}}}}


@router.head("/api/artifacts/{id}/file", include_in_schema=False)
@router.get(
    "/api/artifacts/{id}/file",
    summary="The bytes of an artifact, by a signed link",
    description="Needs no token: the link itself says that it may be read. Takes a single Range, and If-None-Match.",
    response_class=Response,
    responses={
        status: about for status, about in problems(403, 404, 410).items() if status != 401
    } | {
        200: {"description": "The file.", **_BYTES},
        206: {"description": "A part of the file.", **_BYTES},
        304: {"description": "It has not changed since the ETag in If-None-Match."},
        416: {"description": "The range begins after the end of the file."},
    },
)  # fmt: skip
async def read_artifact(
    id: UUID,
    request: Request,
    shared: Shared,
    expires: Annotated[int, Query(ge=0, le=2**53)],
    signature: Annotated[str, Query(max_length=200)],
) -> Response:
    purpose = links_for(shared.settings).purpose_of(id, expires, signature)
    if purpose is None:
        raise Problem(403, "this link was not made here, or was changed since")
    if expires <= time.time():
        raise Problem(410, "this link has expired; ask for another")
    artifact = _current(await shared.app.engine.arun(commands.ArtifactsById([id])))
    response = await send_file(shared.app.artifacts.store, request, artifact)
    if purpose == "link" and request.method != "HEAD" and response.status_code in (200, 206):
        await shared.app.engine.arun(commands.CountDownloads([id]))
    return response
