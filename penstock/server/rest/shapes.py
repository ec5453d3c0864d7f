"""Errors that no route of /rest/v1 or /storage/v1 makes, in the shape that its clients read: bodies over the limit, a
database that is away before anything was asked of it, a path that is none."""

from collections.abc import Callable, Mapping

import msgspec
from starlette.datastructures import Headers
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from penstock.server.http.problems import CONTENT_TYPE
from penstock.server.rest.errors import Refused, code_of
from penstock.server.rest.storage import shown

_SHAPES: Mapping[str, Callable[[Refused], Response]] = {"/rest/v1/": Refused.response, "/storage/v1/": shown}


class _Told(msgspec.Struct):
    detail: str


class ClientShapes:
    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        path = scope.get("path", "").removeprefix(scope.get("root_path", ""))
        shape = next((shape for prefix, shape in _SHAPES.items() if path.startswith(prefix)), None)
        if scope["type"] != "http" or shape is None:
            await self._app(scope, receive, send)
            return
        began: Message | None = None
        body = b""

        async def reshape(message: Message) -> None:
            nonlocal began, body
            if message["type"] == "http.response.start" and _is_problem(message):
                began = message
            elif began is None:
                await send(message)
            else:
                body += message.get("body", b"")
                if not message.get("more_body", False):
                    await shape(_refused(began, body))(scope, receive, send)

        await self._app(scope, receive, reshape)


def _is_problem(start: Message) -> bool:
    return Headers(raw=start["headers"]).get("content-type", "").startswith(CONTENT_TYPE)


def _refused(start: Message, body: bytes) -> Refused:
    status, headers = start["status"], Headers(raw=start["headers"])
    kept = {name: value for name, value in headers.items() if name not in ("content-type", "content-length")}
    return Refused(status, code_of(status), msgspec.json.decode(body, type=_Told).detail, headers=kept)
