"""Uploading a recording."""

from functools import partial
from typing import Annotated, Any
from uuid import UUID, uuid4

import msgspec
import psycopg
from fastapi import APIRouter, Header, Query, Request
from psycopg.rows import dict_row
from starlette.responses import Response

from penstock import Artifact, NewJob
from penstock.server import Caller, CheckedRoute, Identity, Problem, Services, Shared, problems
from penstock_recipes.calls.jobs import Pipeline
from penstock_recipes.calls.routes.access import refuse_strangers
from penstock_recipes.calls.shapes import Accepted
from penstock_recipes.calls.store import Call
from penstock_recipes.calls.upload import content_type_of, digest_of, receive, refuse_full

FileName = Annotated[
    str,
    Query(
        alias="fileName",
        min_length=1,
        max_length=255,
        pattern=r"^[^\x00-\x1f\x7f/\\]+$",
        description="What it is called.",
        examples=["call.mp4"],
    ),
]
IdempotencyKey = Annotated[
    str | None,
    Header(
        alias="Idempotency-Key",
        min_length=1,
        max_length=255,
        description="A second request with the same key, name, kind and body gets the call of the first; "
        "any other is refused.",
    ),
]
_BODY = {
    "requestBody": {
        "required": True,
        "description": "The recording itself.",
        "content": {
            kind: {"schema": {"type": "string", "format": "binary"}}
            for kind in ("audio/*", "video/*", "application/octet-stream")
        },
    }
}


def make_router(pipeline: Pipeline, max_bytes: int, max_org_bytes: int | None) -> APIRouter:
    router = APIRouter(route_class=CheckedRoute, prefix="/calls", tags=["calls"])

    @router.post(
        "",
        status_code=201,
        summary="Upload a recording",
        description="`curl --data-binary @call.mp4 -H 'Content-Type: video/mp4' '…/calls?orgId=…&fileName=call.mp4'`",
        response_model=Accepted,
        responses=problems(403, 409, 415, 507)
        | {200: {"description": "It was uploaded before, with the same Idempotency-Key.", "model": Accepted}},
        openapi_extra=_BODY,
    )
    async def upload_call(
        request: Request,
        caller: Caller,
        shared: Shared,
        org_id: Annotated[UUID, Query(alias="orgId", description="Whose it is to be: an organisation of yours.")],
        file_name: FileName = "recording",
        key: IdempotencyKey = None,
    ) -> Response:
        refuse_strangers(caller, org_id)
        content_type = content_type_of(request.headers.get("content-type"), file_name)
        announced = request.headers.get("content-length", "")
        earlier = await _uploaded_before(shared, caller, org_id, key)
        if earlier is not None:
            _refuse_another(earlier, file_name, content_type, announced)
            return _same(earlier, await digest_of(request, max_bytes))
        await refuse_full(shared.app, org_id, max_org_bytes, int(announced) if announced.isdigit() else 0)
        call = Call(org_id, uuid4())
        raw, digest = await receive(shared.app, request, call, content_type, max_bytes)
        try:
            # others may have been faster, or the size was not known
            await refuse_full(shared.app, org_id, max_org_bytes)
        except Problem:
            await shared.app.artifacts.adelete(raw.id)
            raise
        async with shared.app.atransaction() as connection:
            insert = partial(_insert, connection, call, caller, file_name, raw, digest, key)
            job = await pipeline.begin(connection, call, insert)
        if job is not None:
            return _accepted(call.id, job, created=True)
        # another request with this key was faster
        await shared.app.artifacts.adelete(raw.id)
        earlier = await _uploaded_before(shared, caller, org_id, key)
        if earlier is None:
            raise Problem(409, "the call of this Idempotency-Key has just been deleted; try again")
        _refuse_another(earlier, file_name, content_type, announced)
        return _same(earlier, digest)

    return router


async def _insert(
    connection: psycopg.AsyncConnection[Any],
    call: Call,
    caller: Identity,
    file_name: str,
    raw: Artifact,
    digest: str,
    key: str | None,
    flow: NewJob,
) -> bool:
    inserted = await connection.execute(
        """
        insert into calls.calls (id, org_id, user_id, file_name, content_type, size, sha256, job_id, idempotency_key)
        values (%s, %s, %s, %s, %s, %s, %s, %s, %s)
            on conflict (org_id, coalesce(user_id, ''), idempotency_key) where idempotency_key is not null do nothing
        """,
        [call.id, call.org, caller.subject, file_name, raw.content_type, raw.size, digest, flow.id, key],
    )
    if inserted.rowcount == 0:
        return False
    await connection.execute(
        "insert into calls.artifacts (call_id, org_id, type, artifact_id, path) values (%s, %s, 'raw', %s, %s)",
        [call.id, call.org, raw.id, raw.path],
    )
    return True


async def _uploaded_before(services: Services, caller: Identity, org: UUID, key: str | None) -> dict[str, Any] | None:
    if key is None:
        return None
    async with services.app.atransaction() as connection, connection.cursor(row_factory=dict_row) as rows:
        await rows.execute(
            """
            select id, job_id, file_name, content_type, size, sha256
              from calls.calls
             where org_id = %s and coalesce(user_id, '') = %s and idempotency_key = %s
            """,
            [org, caller.subject or "", key],
        )
        return await rows.fetchone()


def _refuse_another(earlier: dict[str, Any], file_name: str, content_type: str, announced: str) -> None:
    """422 when this request is of another recording, as far as that is seen by its head."""
    size = int(announced) if announced.isdigit() else earlier["size"]
    if (earlier["file_name"], earlier["content_type"], earlier["size"]) != (file_name, content_type, size):
        raise _used_for(f"{earlier['file_name']}, {earlier['content_type']} of {earlier['size']:,} bytes")


def _same(earlier: dict[str, Any], digest: str) -> Response:
    """The call of the first request; 422 when this one is of another recording."""
    if earlier["sha256"] not in (digest, None):  # of one from before it was kept
        raise _used_for("another recording of the same name, kind and size")
    return _accepted(earlier["id"], earlier["job_id"], created=False)


def _used_for(what: str) -> Problem:
    wrong = {"field": "Idempotency-Key", "problem": f"was used for {what}"}
    return Problem(422, f"{wrong['field']}: {wrong['problem']}", errors=[wrong])


def _accepted(call: UUID, job: UUID, *, created: bool) -> Response:
    told = {"id": call, "jobId": job, "created": created}
    headers = {"Location": f"/api/v1/calls/{call}"}
    return Response(msgspec.json.encode(told), 201 if created else 200, headers, "application/json")
