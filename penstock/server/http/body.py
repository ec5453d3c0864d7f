"""Limits on what a request may send: how much, and how slowly."""

import asyncio
import re
import time
from collections.abc import Collection

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from penstock.server.auth.identity import Identity
from penstock.server.http.problems import Problem
from penstock.server.settings import ServerSettings

_LENGTH = re.compile(rb"[0-9]{1,18}")
"""Not every server looks at it, and Python reads no number of more than 4,300 digits."""
_SLOWEST = 10_000
"""Bytes a second, on average, once the timeout is over."""
_UPLOAD = re.compile(r"/api/work/jobs/[^/]+/artifacts/")


class BodyLimits:
    """413 for a body over the limit, whether its length was announced or not; 408 for one that does not come."""

    def __init__(self, app: ASGIApp, settings: ServerSettings, uploads: Collection[str] = ()) -> None:
        self._app = app
        self._settings = settings
        self._uploads = uploads

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or scope["method"] in ("GET", "HEAD", "OPTIONS"):
            await self._app(scope, receive, send)
            return
        path = scope["path"].removeprefix(scope.get("root_path", ""))
        most = self._most(path)
        announced = next((value for name, value in scope["headers"] if name == b"content-length"), b"0")
        if not _LENGTH.fullmatch(announced) or int(announced) > most:
            await _too_large(most).response()(scope, receive, send)
            return
        await self._app(scope, _Limited(receive, most, self._settings.body_timeout), send)

    def _most(self, path: str) -> int:
        if _UPLOAD.match(path) or path in self._uploads:
            return self._settings.max_upload
        # read only of who has the service key
        return self._settings.max_work_body if path.startswith("/api/work/") else self._settings.max_body


OF_STRANGERS = 16 * 1024
"""Bytes that are awaited of whoever has shown no token."""


async def body_of(request: Request, caller: Identity) -> bytes:
    """For what a role without a name may have been granted: who nobody is may not make us wait for much."""
    return await (read_at_most(request, OF_STRANGERS) if caller.role == "anon" else request.body())


async def read_at_most(request: Request, most: int) -> bytes:
    """The body; 413 for a longer one, as soon as that is known."""
    if int(request.headers.get("content-length", 0)) > most:
        raise _too_large(most)
    body = bytearray()
    async for piece in request.stream():
        body += piece
        if len(body) > most:
            raise _too_large(most)
    return bytes(body)


class _Limited:
    """The request's body, piece by piece. After its end it waits for the client to leave, as long as that takes."""

    def __init__(self, receive: Receive, most: int, timeout: float) -> None:
        self._receive = receive
        self._left = most
        self._most = most
        self._timeout = timeout
        self._ended = False
        self._began = time.monotonic()

    async def __call__(self) -> Message:
        if self._ended:
            return await self._receive()
        try:
            async with asyncio.timeout(self._seconds_left()):
                message = await self._receive()
        except TimeoutError:
            raise HTTPException(408, "the body did not arrive in time") from None
        if message["type"] == "http.request":
            self._left -= len(message.get("body", b""))
            if self._left < 0:
                problem = _too_large(self._most)
                raise HTTPException(problem.status, problem.detail)
            self._ended = not message.get("more_body", False)
        return message

    def _seconds_left(self) -> float:
        """A body that drips would otherwise keep its connection for as long as it likes."""
        came = self._most - self._left
        return self._began + self._timeout + came / _SLOWEST - time.monotonic()


def _too_large(most: int) -> Problem:
    return Problem(413, f"the body is over the limit of {most:,} bytes", headers={"Connection": "close"})
