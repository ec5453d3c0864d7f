"""A recording on its way from a client into the store, a piece at a time."""

import mimetypes
from collections.abc import AsyncIterator
from hashlib import sha256
from uuid import UUID

from starlette.requests import ClientDisconnect, Request

from penstock import Artifact, Penstock
from penstock.server import Problem
from penstock_recipes.calls.store import WHILE_IT_TAKES, Call, Full, check_room

_SAYS_NOTHING = ("", "application/octet-stream", "binary/octet-stream", "application/x-www-form-urlencoded")
"""What clients say that do not know: the last is what curl says."""
_ALSO_MEDIA = ("application/ogg", "application/mp4", "application/vnd.rn-realmedia", "application/mxf")


def content_type_of(said: str | None, file_name: str) -> str:
    """What kind of recording it is, by what the client says, else by the file's name; 415 when it is none."""
    told = (said or "").partition(";")[0].strip().lower()
    if told in _SAYS_NOTHING:
        told = mimetypes.guess_type(file_name)[0] or ""
    if told.startswith(("audio/", "video/")) or told in _ALSO_MEDIA:
        return told
    if told.startswith("multipart/"):
        raise Problem(415, "send the recording itself as the body: curl --data-binary @call.mp4")
    said_so = f", not {told}" if told else "; say so by Content-Type, or by a fileName like call.mp4"
    raise Problem(415, f"only recordings are taken, audio/… or video/…{said_so}")


async def refuse_full(app: Penstock, org: UUID, max_org_bytes: int | None, more: int = 0) -> None:
    """507 when an organisation keeps more than it may, or would."""
    try:
        await check_room(app, org, max_org_bytes, more)
    except Full as error:
        raise Problem(507, str(error), headers={"Connection": "close"}) from None


async def receive(
    app: Penstock, request: Request, call: Call, content_type: str, max_bytes: int
) -> tuple[Artifact, str]:
    """Stores the body of a request in flat memory, and tells its digest. Broken off or refused, it leaves nothing."""
    body = _Body(request, max_bytes)
    await body.begin()
    try:
        artifact = await app.artifacts.aput(
            "raw", body.pieces(), org=str(call.org), type="raw", content_type=content_type, path=call.path("raw"),
            expires_in=WHILE_IT_TAKES,
        )  # fmt: skip
        return artifact, body.digest
    except Exception:
        # a store may have its own words for what ended the pieces
        if body.problem is not None:
            raise body.problem from None
        raise


async def digest_of(request: Request, max_bytes: int) -> str:
    """Of a body that is read for nothing else."""
    body = _Body(request, max_bytes)
    await body.begin()
    async for _ in body.pieces():
        pass
    return body.digest


class _Body:
    def __init__(self, request: Request, max_bytes: int) -> None:
        self.problem: Problem | None = None
        self._max_bytes = max_bytes
        self._size = 0
        self._hash = sha256()
        self._stream = request.stream()
        self._first = b""
        self._announced = request.headers.get("content-length", "0")

    @property
    def digest(self) -> str:
        """SHA-256 of what was read."""
        return self._hash.hexdigest()

    async def begin(self) -> None:
        """Reads the first piece: nothing is written for what is refused at once."""
        if self._announced.isdigit() and int(self._announced) > self._max_bytes:
            raise self._too_large()
        try:
            async for piece in self._stream:
                if piece:
                    self._first = piece
                    return
        except ClientDisconnect:
            raise _broken_off() from None
        raise Problem(422, "the body is empty: send the recording", errors=[{"field": "body", "problem": "is empty"}])

    async def pieces(self) -> AsyncIterator[bytes]:
        try:
            yield self._counted(self._first)
            async for piece in self._stream:
                if piece:
                    yield self._counted(piece)
        except ClientDisconnect:
            self.problem = _broken_off()
            raise self.problem from None
        except Problem as problem:
            self.problem = problem
            raise

    def _counted(self, piece: bytes) -> bytes:
        self._size += len(piece)
        self._hash.update(piece)
        if self._size > self._max_bytes:
            raise self._too_large()
        return piece

    def _too_large(self) -> Problem:
        return Problem(413, f"a recording may have {self._max_bytes:,} bytes", headers={"Connection": "close"})


def _broken_off() -> Problem:
    return Problem(400, "the recording did not arrive as a whole")
