"""Files of jobs that run on a worker over the API: streamed to the server, which has the store."""

import asyncio
import time
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any, Unpack
from urllib.parse import quote, urlencode

import msgspec

from penstock.artifact import Artifact, NewArtifact
from penstock.engine.http.client import RemoteEngine
from penstock.engine.http.errors import ApiUnreachable
from penstock.engine.http.messages import StoredFile
from penstock.errors import ArtifactExists, DuplicateKey
from penstock.job import ClaimedJob, Lease
from penstock.now import run_now
from penstock.storage.job_files import Keeper, PutChoices
from penstock.storage.source import Source, chunks_of

_PATIENCE = 120.0
"""Seconds between two pieces, or from the last one to the answer: the store has to finish, too."""

_NAMES = {"content_type": "contentType", "expires_in": "expiresIn"}
_read = msgspec.json.Decoder(StoredFile).decode


class RemoteKeeper:
    def __init__(self, engine: RemoteEngine, *, blocks: bool = False) -> None:
        self._engine = engine
        self._blocks = blocks

    def blocking(self) -> Keeper:
        return RemoteKeeper(self._engine, blocks=True)

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
                stored = _read(await self._send(url, chunks_of(data, blocks=self._blocks)))
                return stored.artifact()
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
        said[_NAMES.get(name, name)] = value
    return urlencode(said)


def _now(chunks: AsyncIterator[bytes]) -> Iterator[bytes]:
    """Chunks that nobody has to wait for."""
    while True:
        try:
            yield run_now(anext(chunks))
        except StopAsyncIteration:
            return
