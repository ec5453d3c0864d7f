"""Style sheets and scripts of the pages. Their address has a hash of them all, so browsers keep them for good; one for
all, because modules import each other by relative addresses."""

import hashlib
from importlib.resources import files
from typing import NamedTuple

from starlette.requests import Request
from starlette.responses import Response

from penstock.server.dashboard.address import url
from penstock.server.http.problems import Problem

PATH = "/dashboard/static/{version}/{name}"

_TYPES = {
    ".css": "text/css; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".svg": "image/svg+xml",
}
_FOR_GOOD = "public, max-age=31536000, immutable"


class _Asset(NamedTuple):
    body: bytes
    media_type: str


def _read() -> dict[str, _Asset]:
    folder = files("penstock.server.dashboard") / "static"
    return {
        each.name: _Asset(each.read_bytes(), media_type)
        for each in sorted(folder.iterdir(), key=lambda each: each.name)
        for suffix, media_type in _TYPES.items()
        if each.name.endswith(suffix)
    }


_ASSETS = _read()
VERSION = hashlib.sha256(b"\0".join(asset.body for asset in _ASSETS.values())).hexdigest()[:16]


def asset(name: str) -> str:
    """The address of a file, as this request's pages have it."""
    if name not in _ASSETS:
        raise LookupError(f"there is no {name} among the dashboard's static files")
    return url(PATH.format(version=VERSION, name=name))


async def send(request: Request) -> Response:
    found = _ASSETS.get(request.path_params["name"])
    if found is None:
        return Problem(404, "there is no such file").response()
    # a page of another version, while servers are being replaced, has what there is, and keeps it for no longer
    known = request.path_params["version"] == VERSION
    headers = {
        "Cache-Control": _FOR_GOOD if known else "no-cache",
        "X-Content-Type-Options": "nosniff",
        "Cross-Origin-Resource-Policy": "same-origin",
    }
    return Response(found.body, headers=headers, media_type=found.media_type)
