"""Several artifacts as one ZIP, made while it is sent."""

import re
import zlib
from collections.abc import Iterator, Sequence

from starlette.responses import Response, StreamingResponse
from zipstream import ZIP_DEFLATED, ZIP_STORED, ZipStream

from penstock.artifact import Artifact
from penstock.engine import commands
from penstock.server.dependencies import Services
from penstock.server.files.headers import disposition, harmless
from penstock.storage import Store

_COMPRESSIBLE = re.compile(
    r"text/.*|application/(json|xml|javascript|x-ndjson|yaml|sql|.*\+(json|xml))|image/(svg\+xml|bmp)|audio/(x-)?wav",
    re.IGNORECASE,
)
_LEVEL = min(6, zlib.Z_BEST_COMPRESSION)
_LONGEST = 180


async def send_zip(services: Services, artifacts: Sequence[Artifact], filename: str, status: int = 200) -> Response:
    """Answers with the artifacts as one archive, each counted as downloaded. Whether the caller may read them is for
    whoever calls this to know."""
    chunks, length = zip_of(services.app.artifacts.store, artifacts)
    headers = {
        # names of archives are ours: the plain form is the exact one
        "Content-Disposition": disposition(filename).partition("; filename*=")[0],
        "Cache-Control": "private, no-store",
        "X-Content-Type-Options": "nosniff",
    }
    if length is not None:
        headers["Content-Length"] = str(length)
    await services.app.engine.arun(commands.CountDownloads([artifact.id for artifact in artifacts]))
    # read and compressed in threads, a chunk at a time
    return StreamingResponse(chunks, status, headers, "application/zip")


def zip_of(store: Store, artifacts: Sequence[Artifact]) -> tuple[Iterator[bytes], int | None]:
    """The archive's bytes, read from the store as they are sent, and its length if that is known before: it is
    when nothing is compressed, because everything is already."""
    compressed = [bool(_COMPRESSIBLE.fullmatch(artifact.content_type.partition(";")[0])) for artifact in artifacts]
    archive = ZipStream(sized=not any(compressed))
    names = entry_names([artifact.name for artifact in artifacts])
    for artifact, name, compress in zip(artifacts, names, compressed, strict=True):
        archive.add(
            _contents(store, artifact),
            name,
            size=artifact.size,
            compress_type=ZIP_DEFLATED if compress else ZIP_STORED,
            compress_level=_LEVEL if compress else None,
        )
    return iter(archive), None if any(compressed) else len(archive)


def _contents(store: Store, artifact: Artifact) -> Iterator[bytes]:
    yield from store.open(artifact.path).chunks


def entry_names(names: Sequence[str]) -> list[str]:
    """A name in the archive for each file: relative, without a way out of the folder it is unpacked in, and each its
    own, also where capitals do not count."""
    taken: set[str] = set()
    chosen = []
    for name in names:
        safe = _safe(name)
        stem, dot, suffix = safe.rpartition(".") if "." in safe.rpartition("/")[2][1:] else (safe, "", "")
        candidate, number = safe, 1
        while candidate.casefold() in taken:
            number += 1
            candidate = f"{stem} ({number}){dot}{suffix}"
        taken.add(candidate.casefold())
        chosen.append(candidate)
    return chosen


def _safe(name: str) -> str:
    parts = []
    for part in re.split(r"[/\\]+", name):
        # what Windows would read as a drive, a stream or a device, and what ends a name silently, goes as well
        clean = re.sub(r"[\x00-\x1f\x7f-\x9f<>:\"|?*]", "_", part.encode("utf-8", "replace").decode())
        clean = harmless(clean.strip())[:_LONGEST].rstrip(". ")
        if clean:
            parts.append(clean)
    return "/".join(parts) or "file"
