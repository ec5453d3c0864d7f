"""What an artifact is, and where its file goes: plain values and pure rules."""

import math
import mimetypes
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from enum import StrEnum
from hashlib import sha256
from typing import Any
from urllib.parse import quote
from uuid import UUID

from penstock.errors import InvalidInput
from penstock.job import new_job_id

NOBODY = "_"
"""The folder of jobs without an owner. An organisation's own begins with it, and no owner's folder does."""
LONGEST_SEGMENT = 200
LONGEST_PATH = 800
"""Bytes as written in the store: file systems take 255 for a name, S3 takes 1,024 for a key with its prefix."""
OCTETS = "application/octet-stream"

TURNS = re.compile("[\u202a-\u202e\u2066-\u2069]")
"""Overrides and embeddings: with one, `cod.exe` looks like `exe.doc`."""
_SAFE = "-_.~+=,@()"
# a value has no semicolon: what could be divided in many ways would be tried in all of them
_CONTENT_TYPE = re.compile(
    r"(?=.{1,255}\Z)[a-z0-9!#$&^_.+-]+/[a-z0-9!#$&^_.+-]+(;[ \t]*[a-z0-9!#$&^_.+-]+=[ !#-:<-\[\]-~]+)*",
    re.IGNORECASE | re.ASCII,
)
# what Python's own table lacks on some systems
_BY_SUFFIX = {
    ".webp": "image/webp",
    ".m4a": "audio/mp4",
    ".opus": "audio/ogg",
    ".md": "text/markdown",
    ".avif": "image/avif",
}


class ArtifactState(StrEnum):
    WRITING = "writing"
    STORED = "stored"
    REMOVING = "removing"


@dataclass(frozen=True, slots=True)
class Artifact:
    """A file that a job produced, as the database knows it.

    ```python
    @app.job
    async def report(ctx: Context) -> str:
        artifact = await ctx.artifacts.put("report.txt", b"all is well")
        return f"{artifact.name}: {artifact.size} bytes"
    ```
    """

    id: UUID
    job: UUID
    owner: str | None
    org: str | None
    kind: str
    name: str
    type: str | None
    path: str
    content_type: str
    size: int | None
    duration: float | None
    metadata: dict[str, Any] | None
    state: ArtifactState
    created_at: datetime
    stored_at: datetime | None
    expires_at: datetime | None
    downloads: int
    digest: str | None

    @property
    def expired(self) -> bool:
        """Whether its time is over: it is not handed out any more, and its file is gone or will be soon."""
        return self.expires_at is not None and self.expires_at <= datetime.now(UTC)

    @property
    def shown_type(self) -> str:
        """Its type, or one told from the content type: audio_mp3, pdf, json."""
        return self.type or type_of(self.content_type)


@dataclass(frozen=True, slots=True, kw_only=True)
class NewArtifact:
    """A file about to be written, checked."""

    name: str
    path: str
    content_type: str
    type: str | None = None
    duration: float | None = None
    metadata: Mapping[str, Any] | None = None
    expires_in: float | None = None
    overwrite: bool = True
    id: UUID = field(default_factory=new_job_id)

    @classmethod
    def of(
        cls,
        owner: str | None,
        job: UUID,
        name: str,
        *,
        org: str | None = None,
        type: str | None = None,
        content_type: str | None = None,
        duration: float | None = None,
        metadata: Mapping[str, Any] | None = None,
        expires_in: float | None = None,
        overwrite: bool = True,
        path: str | None = None,
    ) -> "NewArtifact":
        """Checks everything; what cannot be is refused by the name of the field."""
        if content_type is not None and not _CONTENT_TYPE.fullmatch(content_type):
            raise InvalidInput("content_type", f"must be like application/pdf, not {content_type[:100]!r}")
        if type is not None:
            _refuse_controls("type", type)
        for field_name, number in (("duration", duration), ("expires_in", expires_in)):
            if number is not None and not (isinstance(number, int | float) and number >= 0):
                raise InvalidInput(field_name, f"must be a number of seconds, not {number!r}")
        if duration is not None and not math.isfinite(duration):
            raise InvalidInput("duration", "must be finite")
        if expires_in is not None and expires_in > 1e10:
            expires_in = None if math.isinf(expires_in) else 1e10
        return cls(
            name=name, path=path_of(owner, job, name, path, org=org),
            content_type=content_type or content_type_of(name), type=type, duration=duration, metadata=metadata,
            expires_in=expires_in, overwrite=overwrite,
        )  # fmt: skip


def path_of(owner: str | None, job: UUID, name: str, path: str | None = None, *, org: str | None = None) -> str:
    """Where a file goes: below its owner's folder, or its organisation's if nobody else owns it, in one of its job's,
    or at `path` there.

    Different owners never share a folder: names are percent-encoded, one way only, and none can climb out of it.
    """
    inside = _segments("name", name)
    below = [str(job), *inside] if path is None else _segments("path", path)
    whole = "/".join([folder_of(owner, org), *below])
    if len(whole) > LONGEST_PATH:
        raise InvalidInput("name" if path is None else "path", f"is too long: {len(whole)} of {LONGEST_PATH} bytes")
    return whole


def folder_of(owner: str | None, org: str | None = None) -> str:
    if owner is None:
        return NOBODY + ("" if org is None else _encoded("org", org))
    encoded = _encoded("owner", owner)
    # `..`, `.hidden`, `_` and `_acme` are names that an owner may have, and must not have as a folder
    return f"%{ord(encoded[0]):02X}{encoded[1:]}" if encoded[0] in "._" else encoded


def _encoded(field_name: str, whose: str) -> str:
    encoded = quote(whose, safe=_SAFE)
    if not encoded:
        raise InvalidInput(field_name, "must not be empty")
    if len(encoded) > LONGEST_SEGMENT:
        # a hundred times ü is six hundred bytes; nothing that is encoded begins like this, so it is nobody else's
        return f"%~{sha256(whose.encode()).hexdigest()}"
    return encoded


def _segments(field_name: str, name: str) -> list[str]:
    if not isinstance(name, str) or not name:
        raise InvalidInput(field_name, "must be a name like resume.pdf or audio/chapter1.mp3")
    _refuse_controls(field_name, name)
    if "\\" in name:
        raise InvalidInput(field_name, "must not have a backslash; folders are separated by /")
    segments = name.split("/")
    for segment in segments:
        if segment in ("", ".", ".."):
            raise InvalidInput(field_name, "must be relative, without empty parts, . or ..")
    encoded = [quote(segment, safe=_SAFE) for segment in segments]
    if any(len(segment) > LONGEST_SEGMENT for segment in encoded):
        raise InvalidInput(field_name, f"has a part of more than {LONGEST_SEGMENT} bytes")
    return encoded


def _refuse_controls(field_name: str, text: str) -> None:
    try:
        text.encode()
    except UnicodeEncodeError:
        raise InvalidInput(field_name, "must not have lone surrogates") from None
    if any(ord(character) < 32 or 127 <= ord(character) < 160 for character in text):
        raise InvalidInput(field_name, "must not have control characters")
    if TURNS.search(text):
        raise InvalidInput(field_name, "must not have characters that turn the direction of text around")


def content_type_of(name: str) -> str:
    """As the name's ending tells it."""
    _, dot, ending = name.rpartition("/")[2].rpartition(".")
    suffix = dot + ending.lower() if dot else ""
    guessed, encoding = mimetypes.guess_type("x" + suffix)
    return _BY_SUFFIX.get(suffix) or (guessed if guessed and encoding is None else OCTETS)


_NAMES = {"mpeg": "mp3", "mp4": "m4a", "x-wav": "wav", "plain": "text", "jpeg": "jpeg", "octet-stream": "file"}


def type_of(content_type: str) -> str:
    """A short name of a content type: audio_mp3 for audio/mpeg, image_png, pdf, json."""
    main, _, sub = content_type.partition(";")[0].strip().lower().partition("/")
    sub = _NAMES.get(sub, sub) if not (main == "video" and sub == "mp4") else sub
    sub = re.sub(r"[^a-z0-9]+", "_", sub.removeprefix("x-")).strip("_") or "file"
    return f"{main}_{sub}" if main in ("audio", "video", "image") else sub
