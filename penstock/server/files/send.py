"""The bytes of an artifact as a response: whole, a part, or none when the caller has them already."""

from starlette.requests import Request
from starlette.responses import Response, StreamingResponse

from penstock.artifact import Artifact
from penstock.server.files.headers import Unsatisfiable, disposition, matches, read_range
from penstock.server.http.problems import Problem
from penstock.storage import Store

SANDBOX = "sandbox; default-src 'none'"
"""Should a browser show it all the same, it may do nothing."""


async def send_file(
    store: Store, request: Request, artifact: Artifact, *, inline: bool = False, policy: str = SANDBOX
) -> Response:
    """As a download; `inline` to be shown in a page, under this policy. Whether the caller may have it is for whoever
    calls this to know."""
    size, etag = artifact.size or 0, f'"{artifact.digest}"'
    headers = {"ETag": etag, "Accept-Ranges": "bytes", "Cache-Control": "private", "X-Content-Type-Options": "nosniff"}
    if matches(request.headers.get("if-none-match"), etag):
        return Response(status_code=304, headers=headers)
    whole_if_changed = request.headers.get("if-range") not in (None, etag)
    try:
        part = None if whole_if_changed else read_range(request.headers.get("range"), size)
    except Unsatisfiable:
        return Response(status_code=416, headers=headers | {"Content-Range": f"bytes */{size}"})
    start, end = part or (0, size)
    headers |= {
        "Content-Type": artifact.content_type,
        "Content-Length": str(end - start),
        "Content-Disposition": "inline" if inline else disposition(artifact.name),
        "Content-Security-Policy": policy,
    }
    if part:
        headers["Content-Range"] = f"bytes {start}-{end - 1}/{size}"
    status = 206 if part else 200
    if request.method == "HEAD":
        return Response(status_code=status, headers=headers)
    if size == 0:
        opened = None
    else:
        try:
            opened = await store.aopen(artifact.path, start, None if end == size else end)
        except FileNotFoundError:
            raise Problem(404, "its file is gone") from None
        if opened.size != size:
            raise Problem(404, "its file is being replaced; try again")
    return (
        StreamingResponse(opened.chunks, status, headers) if opened else Response(status_code=status, headers=headers)
    )
