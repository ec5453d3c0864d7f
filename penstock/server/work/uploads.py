"""Files of jobs that run on workers over HTTP: streamed into the store, however large."""

from datetime import datetime
from typing import Annotated, Any
from uuid import UUID

import msgspec
from fastapi import APIRouter, Path, Query, Request
from pydantic import BaseModel, Field
from starlette.requests import ClientDisconnect
from starlette.responses import Response

from penstock.engine import commands
from penstock.engine.http import contract
from penstock.errors import ArtifactExists, InvalidInput, LeaseLost
from penstock.job import ClaimedJob, Job, Lease
from penstock.json import encode_args
from penstock.server.dependencies import Shared
from penstock.server.http.problems import Problem
from penstock.server.http.route import CheckedRoute
from penstock.server.http.statuses import problems

router = APIRouter(route_class=CheckedRoute)

LeaseAsked = Annotated[int, Query(ge=0, le=2**53, description="The worker's lease.")]
ClaimsAsked = Annotated[int, Query(ge=0, le=2**31 - 1, description="`claims` of the job as it was claimed.")]
Name = Annotated[str, Path(min_length=1, max_length=1000, description="resume.pdf, or audio/chapter1.mp3.")]


class Stored(BaseModel):
    id: UUID
    job: UUID
    owner: str | None
    org: str | None
    kind: str
    name: str = Field(examples=["resume.pdf"])
    type: str | None
    path: str = Field(description="Where it is in the store.")
    content_type: str = Field(examples=["application/pdf"])
    size: int = Field(examples=[48211])
    duration: float | None
    metadata: dict[str, Any] | None
    state: str = Field(examples=["stored"])
    created_at: datetime
    stored_at: datetime | None
    expires_at: datetime | None
    downloads: int
    digest: str = Field(description="SHA-256, in hexadecimal.")


@router.put(
    "/jobs/{id}/artifacts/{name:path}",
    summary="Store a file of a job",
    description="The body is the file. The same name again overwrites it, unless `overwrite=false`.",
    response_model=Stored,
    responses=problems(403, 404, 409, 410, 507),
    openapi_extra={
        "requestBody": {
            "required": True,
            "content": {"application/octet-stream": {"schema": {"type": "string", "format": "binary"}}},
        }
    },
)
async def upload_artifact(
    id: UUID,
    name: Name,
    request: Request,
    shared: Shared,
    lease: LeaseAsked,
    claims: ClaimsAsked,
    type: Annotated[str | None, Query(description="What it is, e.g. audio_mp3.")] = None,
    content_type: Annotated[str | None, Query(description="Default: by the ending of the name.")] = None,
    duration: Annotated[float | None, Query(description="Of sound or film, in seconds.")] = None,
    metadata: Annotated[str | None, Query(description="A JSON object.")] = None,
    expires_in: Annotated[float | None, Query(description="Seconds; `inf` keeps it.")] = None,
    overwrite: bool = True,
    path: Annotated[str | None, Query(description="Where in its owner's folder, instead of its job's.")] = None,
) -> Response:
    if not await shared.app.engine.arun(commands.Holds(Lease(lease), id, claims)):
        raise _lost(id)
    job = await shared.app.engine.arun(commands.GetJob(id))
    if job is None:
        raise _lost(id)
    try:
        artifact = await shared.app.artifacts.keeper.aput(
            _claimed(job, claims), Lease(lease), name, request.stream(), type=type, content_type=content_type,
            duration=duration, metadata=_read_metadata(metadata), expires_in=expires_in, overwrite=overwrite, path=path,
        )  # fmt: skip
    except LeaseLost:
        raise _lost(id) from None
    except ArtifactExists as error:
        raise Problem(409, str(error)) from None
    except ClientDisconnect:
        raise Problem(400, "the file did not arrive as a whole") from None
    return Response(msgspec.json.encode(artifact), headers=contract.SAID, media_type="application/json")


def _lost(id: UUID) -> Problem:
    return Problem(410, f"job {id} is no longer this lease's: its file is not kept")


def _read_metadata(text: str | None) -> dict[str, Any] | None:
    if text is None:
        return None
    try:
        metadata = msgspec.json.decode(text.encode("utf-8", "replace"), type=dict[str, Any])
        encode_args(metadata)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        raise InvalidInput("metadata", "must be a JSON object") from None
    except InvalidInput as error:
        raise InvalidInput("metadata", str(error)) from None
    return metadata


def _claimed(job: Job, claims: int) -> ClaimedJob:
    """As the worker has it, as far as its files are concerned."""
    return ClaimedJob(
        id=job.id, kind=job.kind, priority=job.priority, turn=0, attempt=job.attempt, max_attempts=job.max_attempts,
        claims=claims, snoozes=job.snoozes, owner=job.owner, org=job.org, parent=job.parent, created_at=job.created_at,
        args="{}", options=None,
    )  # fmt: skip
