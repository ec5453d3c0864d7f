"""Files of jobs that run on a worker over the API: streamed to the server, which has the store."""

import asyncio
import time
from pathlib import Path
from typing import TYPE_CHECKING, Unpack
from urllib.parse import quote, urlencode

import msgspec

from penstock.artifact import Artifact, NewArtifact
from penstock.engine.http.answers import ApiUnreachable
from penstock.errors import ArtifactExists, DuplicateKey
from penstock.job import ClaimedJob, Lease
from penstock.keeper import PutChoices, Source, achunks_of, chunks_of

if TYPE_CHECKING:
    from penstock.engine.http.client import HttpEngine

_TIMEOUT = 120.0
"""Seconds between two pieces, or from the last one to the answer: the store has to finish, too."""

_FILE = {"content-type": "application/octet-stream"}

_read = msgspec.json.Decoder(Artifact).decode


class HttpKeeper:
    def __init__(self, engine: "HttpEngine") -> None:
        self._engine = engine

    def put(self, job: ClaimedJob, lease: Lease, name: str, data: Source, /, **choices: Unpack[PutChoices]) -> Artifact:
        NewArtifact.of(job.owner, job.id, name, org=job.org, **choices)  # the server checks it, too: after it was sent
        url = f"{self._engine.url}/api/work/jobs/{job.id}/artifacts/{quote(name)}?{_query(job, lease, choices)}"
        # what can be read from the start may be sent again; an iterator is used up
        repeatable = choices.get("overwrite", True) and isinstance(data, bytes | bytearray | memoryview | Path)
        tries = self._engine.tries()
        while True:
            try:
                client = self._engine.client()
                answer = client.put(url, content=chunks_of(data), headers=_FILE, timeout=_TIMEOUT)
                return _read(self._engine.read_answer(answer))
            except DuplicateKey as error:
                raise ArtifactExists(error.problem) from None
            except (self._engine.transport_error, ApiUnreachable) as error:
                fault = self._engine.fault(error, repeatable)
            time.sleep(tries.pause(fault))

    async def aput(
        self, job: ClaimedJob, lease: Lease, name: str, data: Source, /, **choices: Unpack[PutChoices]
    ) -> Artifact:
        NewArtifact.of(job.owner, job.id, name, org=job.org, **choices)  # the server checks it, too: after it was sent
        url = f"{self._engine.url}/api/work/jobs/{job.id}/artifacts/{quote(name)}?{_query(job, lease, choices)}"
        # what can be read from the start may be sent again; an iterator is used up
        repeatable = choices.get("overwrite", True) and isinstance(data, bytes | bytearray | memoryview | Path)
        tries = self._engine.tries()
        while True:
            try:
                client = self._engine.client_of_this_loop()
                answer = await client.put(url, content=achunks_of(data), headers=_FILE, timeout=_TIMEOUT)
                return _read(self._engine.read_answer(answer))
            except DuplicateKey as error:
                raise ArtifactExists(error.problem) from None
            except (self._engine.transport_error, ApiUnreachable) as error:
                fault = self._engine.fault(error, repeatable)
            await asyncio.sleep(tries.pause(fault))


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
