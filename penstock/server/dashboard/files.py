"""GET /dashboard/artifacts/{id}: a file to be looked at in a page, or downloaded."""

from datetime import datetime
from uuid import UUID

from starlette.requests import Request
from starlette.responses import Response

from penstock.artifact import Artifact
from penstock.engine import commands
from penstock.mask import masked_text
from penstock.server.dependencies import Services
from penstock.server.files.send import SANDBOX, send_file
from penstock.server.http.problems import Problem

PREVIEW = 65_536
"""Bytes of a text that are shown."""
_PICTURES = ("image/png", "image/jpeg", "image/gif", "image/webp", "image/avif")
_TEXTS = ("text/plain", "text/csv", "text/markdown", "application/json", "application/x-ndjson")
# Chromium shows no PDF in a sandbox. Its viewer is a process of its own, and runs nothing on this origin; nothing else
# could come of the file either, because its type is told and not guessed.
_PDF_POLICY = "default-src 'none'; object-src 'self'; style-src 'unsafe-inline'; frame-ancestors 'self'"
_SHOWN_POLICY = f"{SANDBOX}; frame-ancestors 'self'"


def preview_of(artifact: Artifact) -> str | None:
    """How a page can show it: pdf, picture, audio, video, text; None for what is only to be downloaded. What could be
    a document with scripts (HTML, SVG) is."""
    kind = artifact.content_type.partition(";")[0].strip().lower()
    if artifact.expired or not artifact.size:
        return None
    if kind == "application/pdf":
        return "pdf"
    if kind in _PICTURES:
        return "picture"
    if kind in _TEXTS or kind.endswith("+json"):
        return "text"
    return kind.partition("/")[0] if kind.startswith(("audio/", "video/")) else None


async def preview(services: Services, request: Request) -> Response:
    artifact = await _artifact(services, request.path_params["id"])
    shown = preview_of(artifact) if "download" not in request.query_params else None
    if shown is None or shown == "text":
        return await send_file(services.app.artifacts.store, request, artifact)
    policy = _PDF_POLICY if shown == "pdf" else _SHOWN_POLICY
    return await send_file(services.app.artifacts.store, request, artifact, inline=True, policy=policy)


async def read_text(services: Services, artifact: Artifact) -> str:
    """The beginning of a text, without secrets. Remembered: an open page shows it again every second."""
    key = artifact.id, artifact.stored_at
    if key not in _texts:
        _texts[key] = await _read_text(services, artifact)
        while len(_texts) > _TEXTS_KEPT:
            del _texts[next(iter(_texts))]
    return _texts[key]


_texts: dict[tuple[UUID, datetime | None], str] = {}
_TEXTS_KEPT = 50


async def _read_text(services: Services, artifact: Artifact) -> str:
    opened = await services.app.artifacts.store.aopen(artifact.path, 0, min(artifact.size or 0, PREVIEW))
    read = b"".join([chunk async for chunk in opened.chunks])
    return masked_text(read.decode("utf-8", "replace"))


async def _artifact(services: Services, id: str) -> Artifact:
    try:
        found = await services.app.engine.arun(commands.ArtifactsById([UUID(id)]))
    except ValueError:
        found = []
    if not found or found[0].expired:
        raise Problem(404, "there is no such file, or not any more")
    return found[0]
