"""What a watcher is told of a job. Encoded once for each change, however many watch."""

from collections.abc import Mapping, Sequence
from secrets import token_hex
from typing import Any

from starlette.types import Message

from penstock.engine.commands import SeenJob
from penstock.server.jobs.shapes import encode, job_shape, version_of

Link = Mapping[str, Any]
"""An artifact as a client sees it, with where to fetch it."""

HERE = f"http://{token_hex(16)}.invalid"
"""In place of the server's address, in what is encoded once for many who may each see it elsewhere. Random, so that
nobody can have it in their own data."""
_ADDRESSES = 16


class State:
    """A job at one moment. Its version is made of the job alone, hence the same in every process and after every
    restart; the links to its artifacts are signed anew each time."""

    __slots__ = ("_pieces", "final", "job", "version")

    def __init__(self, job: SeenJob, links: Sequence[Link] = ()) -> None:
        shape = job_shape(job)
        # whoever started it knows them, they never change, and they may be large
        del shape["args"]
        self.job = job
        self.final = job.state.final
        self.version = version_of(encode(shape))
        shape["artifacts"] = links
        if self.final:
            shape["result_url"] = _result_url(job, links)
        name = job.state if self.final else "progress"
        told_once = event(name, encode(shape), self.version)
        self._pieces = {HERE: piece(told_once, more=not self.final)}

    def piece(self, here: str) -> Message:
        """For whoever sees the server at this address."""
        known = self._pieces.get(here)
        if known is None:
            if len(self._pieces) > _ADDRESSES:
                self._pieces = {HERE: self._pieces[HERE]}
            told: bytes = self._pieces[HERE]["body"]
            known = self._pieces[here] = piece(told.replace(HERE.encode(), here.encode()), more=not self.final)
        return known


def _result_url(job: SeenJob, links: Sequence[Link]) -> object:
    """Where to fetch what the job made: its only artifact, or all of them in one archive."""
    if len(links) > 1:
        return f"{HERE}/api/jobs/{job.id}/download"
    return links[0]["url"] if links else None


def event(name: str, data: bytes, id: str | None = None) -> bytes:
    """A server-sent event. One line of data is enough: JSON as we write it has no line breaks."""
    head = f"event: {name}\n" if id is None else f"id: {id}\nevent: {name}\n"
    return head.encode() + b"data: " + data + b"\n\n"


def piece(body: bytes, *, more: bool = True) -> Message:
    """Of a response: an ASGI message, which may be sent to any number of clients."""
    return {"type": "http.response.body", "body": body, "more_body": more}
