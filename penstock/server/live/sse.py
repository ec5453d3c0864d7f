"""GET /api/jobs/{id}/stream: what becomes of a job, as server-sent events.

Plain ASGI and not one of FastAPI's endpoints: what those keep for a request would live as long as the stream.
"""

import asyncio
import logging
from contextlib import suppress
from typing import Any
from uuid import UUID

from fastapi import APIRouter
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route
from starlette.types import Message, Receive, Scope, Send

from penstock.server.dependencies import services_of
from penstock.server.http.eager import run_now
from penstock.server.http.problems import Problem, not_found
from penstock.server.http.statuses import problems
from penstock.server.jobs.visible import visible_job
from penstock.server.live.follow import caller_of_stream, seconds_open
from penstock.server.live.states import State, event, piece
from penstock.storage.links import address

log = logging.getLogger("penstock.server")

PATH = "/api/jobs/{id}/stream"

_LAST_WORD = 1.0
"""Seconds that a client has to take the `timeout` event; one that does not read at all would keep us for ever."""


_START: Message = {
    "type": "http.response.start",
    "status": 200,
    "headers": [
        (b"content-type", b"text/event-stream; charset=utf-8"),
        (b"cache-control", b"no-cache, no-transform"),
        (b"x-accel-buffering", b"no"),
    ],
}
_COME_BACK = piece(b"retry: 2000\n\n")
_KEEP_ALIVE = piece(b": keep-alive\n\n")
_TIMEOUT = piece(event("timeout", b'{"message":"Stream timeout"}'), more=False)
_END = piece(b"", more=False)


class JobStream:
    """Streams a job to its end, or until the stream has been open for long enough.

    Its task only waits for the client to leave, which is also how a response that has been sent completely ends; what
    there is to tell is sent by the hub. So an update costs neither a task nor a turn of the event loop for each client.
    With a task woken for each of 5,000, the last was told after 150 ms, and every tenth time after 500.
    """

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        request = Request(scope)
        services = services_of(request)
        job_id = _job_id(request)
        caller = await caller_of_stream(request)
        await visible_job(services, caller, job_id)
        seen = request.headers.get("last-event-id") or request.query_params.get("last_event_id")
        seconds = seconds_open(services, caller)
        del request, caller
        client = Client(send, address.get() or "")
        topic = await services.hub.join(client, job_id)
        try:
            state = topic.state
            if state is None:
                raise not_found()
            if state.final and state.version == seen:
                await Response(status_code=204)(scope, receive, send)
                return
            await client.begin(state if state.version != seen else None)
            if scope["method"] == "HEAD":
                client.leave()
            async with asyncio.timeout(seconds):
                while (await receive())["type"] != "http.disconnect":
                    pass
        except TimeoutError:
            await client.time_out()
        finally:
            services.hub.part(client, topic)
            client.forget()


class Client:
    """One who reads a stream. Whoever reads slowly holds no more than one event here: the newest."""

    __slots__ = ("_behind", "_ended", "_here", "_newest", "_send", "_sending")

    def __init__(self, send: Send, here: str) -> None:
        self._send = send
        self._here = here
        self._sending: asyncio.Task[None] | None = None
        self._behind = True
        """Something is being sent that has not left yet; at first, the head of the response."""
        self._newest: Message | None = None
        self._ended = False

    async def begin(self, state: State | None) -> None:
        """Sends the head, and the state if the client does not know it."""
        await self._send(_START)
        await self._send(_COME_BACK)
        if self._newest is None and state is not None:
            self._newest = state.piece(self._here)
        await self._catch_up()

    def tell(self, state: State) -> None:
        self._push(state.piece(self._here))

    def keep_alive(self) -> None:
        if not self._behind:
            self._push(_KEEP_ALIVE)

    def leave(self) -> None:
        self._push(_END)

    async def time_out(self) -> None:
        if self._sending is not None:
            self._sending.cancel()
        if not self._ended:
            self._ended = True
            with suppress(TimeoutError, OSError):
                async with asyncio.timeout(_LAST_WORD):
                    await self._send(_TIMEOUT)

    def forget(self) -> None:
        self._ended = True
        if self._sending is not None:
            self._sending.cancel()

    def _push(self, piece: Message) -> None:
        if self._ended:
            return
        if self._newest is None or self._newest["more_body"]:  # nothing comes after the last
            self._newest = piece
        if not self._behind:
            self._behind = True
            self._sending = run_now(self._catch_up())

    async def _catch_up(self) -> None:
        """Sends the newest until there is nothing newer."""
        while self._newest is not None and not self._ended:
            piece, self._newest = self._newest, None
            self._ended = not piece["more_body"]
            try:
                await self._send(piece)
            except Exception as error:
                # some servers say so that the client has left, and others are to be told all the same
                log.debug("a stream ended: %r", error)
                self._ended = True
        self._behind = False
        self._sending = None


def _job_id(request: Request) -> UUID:
    try:
        return UUID(request.path_params["id"])
    except ValueError:
        problem = {"field": "id", "problem": "must be a UUID"}
        raise Problem(422, "the job's id is not a UUID", errors=[problem]) from None


router = APIRouter()
router.routes.append(Route(PATH, JobStream(), methods=["GET"], name="stream_job"))

_EXAMPLE = (
    "retry: 2000\n\n"
    "id: 5f3a…\nevent: progress\n"
    'data: {"id":"0198c5a0-…","kind":"export_pdf","state":"running","progress":{"percent":42,…},…}\n\n'
    "id: 9c01…\nevent: succeeded\n"
    'data: {"id":"0198c5a0-…","kind":"export_pdf","state":"succeeded",…,"result_url":"/api/artifacts/…"}\n\n'
)

_EVENT = {
    "description": "One event of the stream.",
    "type": "object",
    "required": ["event", "data"],
    "properties": {
        "id": {"type": "string"},
        "event": {"enum": ["progress", "succeeded", "failed", "cancelled", "timeout"]},
        "data": {"type": "string", "contentMediaType": "application/json"},
    },
}

openapi_paths: dict[str, Any] = {
    PATH: {
        "get": {
            "tags": ["jobs"],
            "summary": "Watch a job",
            "description": (
                "Server-sent events: `progress` whenever the job changes, then one of `succeeded`, `failed` or "
                "`cancelled`, and the stream ends; `timeout` when it has been open for long enough: come back. Their "
                "data is the job without its args; the last has `result_url`, where what it made can be fetched: its "
                "only artifact, or all of them in one archive, or null. An event's id is the "
                "version of the state it tells: a client that comes back with `Last-Event-ID` is "
                "told the newest state if it is another, and 204 when it has seen the job's end."
            ),
            "operationId": "stream_job",
            "parameters": [
                {"name": "id", "in": "path", "required": True, "schema": {"type": "string", "format": "uuid"}},
                {
                    "name": "Last-Event-ID",
                    "in": "header",
                    "required": False,
                    "schema": {"type": "string"},
                    "description": "The id of the last event seen; browsers send it by themselves.",
                },
                {
                    "name": "last_event_id",
                    "in": "query",
                    "required": False,
                    "schema": {"type": "string"},
                    "description": "The same, for clients that cannot set headers.",
                },
                {
                    "name": "access_token",
                    "in": "query",
                    "required": False,
                    "schema": {"type": "string"},
                    "description": "The token, for a browser's EventSource, which cannot set headers.",
                },
                {
                    "name": "watch",
                    "in": "query",
                    "required": False,
                    "schema": {"type": "string"},
                    "description": "A token for this one job, from `app.watch_token`.",
                },
            ],
            "responses": {
                "200": {
                    "description": "The stream.",
                    "content": {"text/event-stream": {"schema": _EVENT, "example": _EXAMPLE}},
                },
                "204": {"description": "The job has ended and the client has seen its last event."},
            }
            | {str(status): about for status, about in problems(404).items()},
        }
    }
}
