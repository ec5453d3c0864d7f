"""Files of a package, sent as they are: read once, known by their content, checked for with each use."""

import hashlib
from collections.abc import Awaitable, Callable, Iterator, Mapping
from importlib.resources.abc import Traversable

from starlette.requests import Request
from starlette.responses import Response

from penstock.server.files.headers import matches

TYPES = {
    "html": "text/html; charset=utf-8",
    "js": "text/javascript; charset=utf-8",
    "ts": "text/plain; charset=utf-8",
    "css": "text/css; charset=utf-8",
    "json": "application/json",
    "svg": "image/svg+xml",
    "png": "image/png",
    "woff2": "font/woff2",
}
_ALWAYS = {"X-Content-Type-Options": "nosniff", "Cache-Control": "public, no-cache"}
"""Kept, and asked about each time: a new version is seen at once, and an old one costs a 304."""

Headers = Callable[[], Awaitable[Mapping[str, str]]]


class StaticFile:
    """One of them; `send` is a route's endpoint. `headers` are made for each answer."""

    def __init__(self, name: str, content: bytes, headers: Headers | None = None) -> None:
        self._content = content
        self._type = TYPES[name.rpartition(".")[2]]
        self._etag = f'"{hashlib.blake2b(content, digest_size=12).hexdigest()}"'
        self._headers = headers

    async def send(self, request: Request) -> Response:
        more = await self._headers() if self._headers is not None else {}
        headers = {**_ALWAYS, "ETag": self._etag, **more}
        if matches(request.headers.get("if-none-match"), self._etag):
            return Response(status_code=304, headers=headers)
        return Response(self._content, headers=headers, media_type=self._type)


def files_below(folder: Traversable, prefix: str = "") -> Iterator[tuple[str, bytes]]:
    """Everything there that a browser may ask for, by its path."""
    for each in sorted(folder.iterdir(), key=lambda each: each.name):
        name = f"{prefix}{each.name}"
        if each.is_dir():
            yield from files_below(each, f"{name}/")
        elif name.rpartition(".")[2] in TYPES:
            yield name, each.read_bytes()
