"""GET /dashboard/artifacts/{id}: a file to be looked at in a page, or downloaded."""

import asyncio
import time
from datetime import datetime
from uuid import UUID
from weakref import WeakKeyDictionary

from starlette.requests import Request
from starlette.responses import Response

from penstock.artifact import Artifact
from penstock.engine import commands
from penstock.errors import StoreFault
from penstock.mask import masked_text
from penstock.server.dependencies import Services
from penstock.server.files.send import SANDBOX, send_file
from penstock.server.http.problems import Problem
from penstock.storage import Storage

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


async def preview(services: Services, request: Request, *, operates: bool) -> Response:
    artifact = await _artifact(services, request.path_params["id"])
    shown = preview_of(artifact) if "download" not in request.query_params else None
    if shown is None or shown == "text":
        if not operates:  # a download is the file as it is; a page shows the beginning of a text without secrets
            raise Problem(403, "you may look, but not download a file")
        return await send_file(services.app.artifacts.store, request, artifact)
    policy = _PDF_POLICY if shown == "pdf" else _SHOWN_POLICY
    return await send_file(services.app.artifacts.store, request, artifact, inline=True, policy=policy)


async def read_text(services: Services, artifact: Artifact) -> str:
    """The beginning of a text, without secrets; FileNotFoundError, or StoreFault while its store is away. Remembered:
    an open page shows it again every second, and no page waits for a store that has just not answered."""
    key = artifact.id, artifact.stored_at
    if key not in _texts:
        _texts[key] = await _read_text(services.app.artifacts.storage, artifact)
        while len(_texts) > _TEXTS_KEPT:
            del _texts[next(iter(_texts))]
    return _texts[key]


_texts: dict[tuple[UUID, datetime | None], str] = {}
_TEXTS_KEPT = 50
_WITHIN = 2.0
"""Seconds that a page waits for a text. Where nobody listens, the client of S3 goes on for five; where nobody answers,
for minutes."""
_AWAY = 10.0
"""Seconds that a store is not asked again."""
_away: WeakKeyDictionary[Storage, float] = WeakKeyDictionary()


async def _read_text(storage: Storage, artifact: Artifact) -> str:
    if time.monotonic() < _away.get(storage, 0):
        raise StoreFault("the store has just not answered")
    try:
        async with asyncio.timeout(_WITHIN):
            opened = await storage.store.aopen(artifact.path, 0, min(artifact.size or 0, PREVIEW))
            read = b"".join([chunk async for chunk in opened.chunks])
    except (StoreFault, TimeoutError) as error:
        _away[storage] = time.monotonic() + _AWAY
        raise StoreFault(str(error) or f"the store did not answer within {_WITHIN:g} s") from None
    return masked_text(read.decode("utf-8", "replace"))


async def _artifact(services: Services, id: str) -> Artifact:
    try:
        found = await services.app.engine.arun(commands.ArtifactsById([UUID(id)]))
    except ValueError:
        found = []
    if not found or found[0].expired:
        raise Problem(404, "there is no such file, or not any more")
    return found[0]
