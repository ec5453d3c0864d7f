"""Files of jobs that run on a worker over the API: streamed to the server, which has the store."""

import asyncio
import time
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, Unpack
from urllib.parse import quote, urlencode

import msgspec

from penstock.artifact import Artifact, NewArtifact
from penstock.engine.http.errors import ApiUnreachable
from penstock.errors import ArtifactExists, DuplicateKey
from penstock.job import ClaimedJob, Lease
from penstock.keeper import Keeper, PutChoices
from penstock.now import run_now
from penstock.source import Source, chunks_of

if TYPE_CHECKING:
    from penstock.engine.http.client import HttpEngine

_PATIENCE = 120.0
"""Seconds between two pieces, or from the last one to the answer: the store has to finish, too."""

_read = msgspec.json.Decoder(Artifact).decode


class HttpKeeper:
    def __init__(self, engine: "HttpEngine", *, blocks: bool = False) -> None:
        self._engine = engine
        self._blocks = blocks

    def blocking(self) -> Keeper:
        return HttpKeeper(self._engine, blocks=True)

    async def put(
        self, job: ClaimedJob, lease: Lease, name: str, data: Source, /, **choices: Unpack[PutChoices]
    ) -> Artifact:
        NewArtifact.of(job.owner, job.id, name, org=job.org, **choices)  # the server checks it, too: after it was sent
        url = f"{self._engine.url}/api/work/jobs/{job.id}/artifacts/{quote(name)}?{_query(job, lease, choices)}"
        # what can be read from the start may be sent again; an iterator is used up
        repeatable = choices.get("overwrite", True) and isinstance(data, bytes | bytearray | memoryview | Path)
        tries = self._engine.tries()
        while True:
            try:
                return _read(await self._send(url, chunks_of(data, blocks=self._blocks)))
            except DuplicateKey as error:
                raise ArtifactExists(error.problem) from None
            except (self._engine.transport_error, ApiUnreachable) as error:
                fault = self._engine.fault(error, repeatable)
            pause = tries.pause(fault)
            if self._blocks:
                time.sleep(pause)  # noqa: ASYNC251 - there is no event loop
            else:
                await asyncio.sleep(pause)

    async def _send(self, url: str, content: bytes | AsyncIterator[bytes]) -> bytes:
        options: dict[str, Any] = {"headers": {"content-type": "application/octet-stream"}, "timeout": _PATIENCE}
        if self._blocks:
            body = content if isinstance(content, bytes) else _now(content)
            return self._engine.read_answer(self._engine.client().put(url, content=body, **options))
        client = self._engine.client_of_this_loop()
        return self._engine.read_answer(await client.put(url, content=content, **options))


def _query(job: ClaimedJob, lease: Lease, choices: PutChoices) -> str:
    said: dict[str, object] = {"lease": lease, "claims": job.claims}
    for name, value in choices.items():
        if value is None:
            continue
        if name == "metadata":
            value = msgspec.json.encode(value).decode()
        elif isinstance(value, bool):
            value = str(value).lower()
        said[name] = value
    return urlencode(said)


def _now(chunks: AsyncIterator[bytes]) -> Iterator[bytes]:
    """Chunks that nobody has to wait for."""
    while True:
        try:
            yield run_now(anext(chunks))
        except StopAsyncIteration:
            return
