"""Where providers call back, with no key of ours: the address itself is signed, works once, and tells one job."""

import logging
import time
from typing import Any

import msgspec
from fastapi import APIRouter, Request
from starlette.responses import Response

from penstock.callbacks import VARIABLE, Callback, read_token, secrets_of
from penstock.engine import commands
from penstock.errors import InvalidInput
from penstock.json import encode_output
from penstock.server.dependencies import Shared
from penstock.server.http.errors import invalid
from penstock.server.http.problems import Problem
from penstock.server.http.route import CheckedRoute, refuse_many
from penstock.server.http.statuses import problems
from penstock.signatures import InvalidSignature, verify
from penstock.storage.links import signing_secret

log = logging.getLogger("penstock.server")

router = APIRouter(route_class=CheckedRoute, tags=["events"])

_STATUSES = (403, 404, 408, 410, 413, 422, 503)
_BODY = {
    "description": "Whatever the job is to be told, as JSON.",
    "content": {"application/json": {"schema": {}, "example": {"id": "pay_7", "status": "paid"}}},
}


@router.post(
    "/api/callbacks/{token}",
    status_code=204,
    summary="Call back",
    response_class=Response,
    responses={status: each for status, each in problems(*_STATUSES).items() if status in _STATUSES},
    openapi_extra={"requestBody": _BODY},
)
async def take_callback(token: str, request: Request, shared: Shared) -> Response:
    """At an address that a handler made by `ctx.callback_url`. What is sent is the payload of the event it waits for.
    Answers 410 once somebody has called, when the job is over, and when the address has expired."""
    settings = shared.settings
    signed_by = signing_secret(settings.signing_secret, settings.service_key)
    callback = read_token(signed_by, token) if signed_by else None
    if callback is None:
        raise Problem(404, "there is no such callback")
    if time.time() >= callback.expires:
        raise Problem(410, "the address has expired")
    body = await request.body()
    refuse_many(body)
    payload = _verified(callback, request, body) if callback.secret else _read(body)
    taken = commands.TakeCallback(
        callback.job, callback.step, callback.event, msgspec.Raw(encode_output(payload, "body"))
    )
    if not await shared.app.engine.arun(taken):
        raise Problem(410, "somebody has called here before, or the job is over")
    return Response(status_code=204)


def _verified(callback: Callback, request: Request, body: bytes) -> object:
    secrets = secrets_of(callback.secret or "")
    try:
        if secrets:
            return verify(secrets, request.headers, body)
        log.error("a callback cannot be verified: set %s%s for the server", VARIABLE, callback.secret)
    except InvalidSignature as error:
        raise Problem(403, str(error)) from None
    except InvalidInput as error:
        # the secret is not one; no error repeats it
        log.error("a callback cannot be verified: %s%s: %s", VARIABLE, callback.secret, error)
    raise Problem(503, "the server cannot verify callbacks at the moment", headers={"Retry-After": "60"})


def _read(body: bytes) -> Any:
    try:
        return msgspec.json.decode(body) if body.strip() else None
    except (msgspec.DecodeError, RecursionError, UnicodeDecodeError) as error:
        raise invalid([("body", f"is not JSON: {error}")]) from None
