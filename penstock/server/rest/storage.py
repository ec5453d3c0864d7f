"""/storage/v1: signed links to artifacts, as supabase-js asks for them by `storage.from("job-artifacts")`.

The bucket is our store, whatever it is; a path is an artifact's. Row level security says who may have a link, which is
signed as all of ours are: it works for a while, and not for whoever changed it.
"""

import re
import time
from typing import Annotated
from uuid import UUID

import msgspec
from fastapi import APIRouter, Query, Request
from starlette.responses import RedirectResponse, Response

from penstock.engine import commands
from penstock.server.auth.identity import Identity
from penstock.server.dependencies import Services, Shared, caller_of, services_of
from penstock.server.files.signing import links_for
from penstock.server.http.body import body_of
from penstock.server.rest.errors import JSON, Refused, refused_of
from penstock.sql import quote_schema

BUCKET = "job-artifacts"
_TOKEN = re.compile(r"([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})\.([0-9]{1,12})\.([0-9a-f]{64})")
_FIND = "select id, expires_at from {schema}.artifacts where path = %s and state = 'stored'"

router = APIRouter(include_in_schema=False)


@router.post("/storage/v1/object/sign/{bucket}/{path:path}")
async def sign(bucket: str, path: str, request: Request) -> Response:
    caller = None
    try:
        caller = await caller_of(request)
        told = await _link(services_of(request), caller, bucket, path, await body_of(request, caller))
        return Response(msgspec.json.encode({"signedURL": told}), 200, None, JSON)
    except Exception as error:
        return shown(refused_of(error, caller))


@router.get("/storage/v1/object/sign/{bucket}/{path:path}")
async def follow(bucket: str, shared: Shared, token: Annotated[str, Query(max_length=200)] = "") -> Response:
    """To the file: the store's own link, or this server's."""
    found = _TOKEN.fullmatch(token)
    try:
        if bucket != BUCKET or found is None:
            raise _invalid()
        id, expires = UUID(found[1]), int(found[2])
        links = links_for(shared.settings)
        seconds = expires - int(time.time())
        if links.purpose_of(id, expires, found[3]) is None or seconds <= 0:
            raise _invalid()
        artifacts = await shared.app.engine.arun(commands.ArtifactsById([id]))
        if not artifacts or artifacts[0].expired:
            raise _missing()
        signed = await shared.app.artifacts.store.asign(artifacts[0].path, seconds)
        return RedirectResponse(signed or links.make(id, expires), 307, {"Cache-Control": "private, no-store"})
    except Exception as error:
        return shown(refused_of(error, None))


@router.post(f"/storage/v1/object/{BUCKET}/{{path:path}}")
@router.put(f"/storage/v1/object/{BUCKET}/{{path:path}}")
@router.post(f"/storage/v1/object/upload/sign/{BUCKET}/{{path:path}}")
async def upload(path: str) -> Response:
    """Refused before a byte of it is read: any size of file would go through the server."""
    del path
    return shown(Refused(405, "MethodNotAllowed", _NO_UPLOADS, headers={"Allow": ""}))


_NO_UPLOADS = (
    "files are not uploaded here: store the bytes where the application's artifacts are (PENSTOCK_ARTIFACTS), then "
    "insert into job_artifacts with their storage_path and file_size_bytes; a handler of Penstock's does both by "
    "ctx.artifacts.put(name, data)"
)


class _Asked(msgspec.Struct, rename="camel"):
    expires_in: Annotated[int, msgspec.Meta(gt=0)]


async def _link(services: Services, caller: Identity, bucket: str, path: str, body: bytes) -> str:
    """Relative to /storage/v1, as clients have it."""
    try:
        seconds = msgspec.json.decode(body, type=_Asked).expires_in
    except (msgspec.DecodeError, ValueError, RecursionError):
        raise Refused(400, "InvalidRequest", "expiresIn: must be a number of seconds above 0") from None
    most = services.settings.link_seconds
    if seconds > most:
        raise Refused(400, "InvalidRequest", f"expiresIn: at most {most} seconds (PENSTOCK_LINK_SECONDS)")
    if bucket != BUCKET:
        raise Refused(404, "NoSuchBucket", f"Bucket not found: there is one, {BUCKET}")
    if "\x00" in path:
        raise _missing()
    async with services.acting_as(caller) as connection:
        text = _FIND.format(schema=quote_schema(services.app.database.schema))
        row = await (await connection.execute(text.encode(), [path])).fetchone()
    if row is None:
        raise _missing()
    id, ends_at = row
    expires = int(time.time()) + seconds
    if ends_at is not None:
        expires = min(expires, int(ends_at.timestamp()))
    signature = links_for(services.settings).signature(id, expires)
    # as it is, for clients encode it; the token alone says which file it is
    return f"/object/sign/{BUCKET}/{re.sub('[?#]', '_', path)}?token={id}.{expires}.{signature}"


def _missing() -> Refused:
    return Refused(404, "NoSuchKey", "Object not found")


def _invalid() -> Refused:
    return Refused(400, "InvalidJWT", "the link has expired, was changed, or was not made here")


def shown(refused: Refused) -> Response:
    """As Supabase's storage says it."""
    body = {"statusCode": str(refused.status), "error": refused.body["code"], "message": refused.body["message"]}
    return Response(msgspec.json.encode(body), refused.status, refused.headers, JSON)
