"""`app.artifacts`: taking files that no job makes; looking through all, reading, linking and removing them."""

import os
import time
from collections.abc import AsyncIterator, Iterator, Sequence
from datetime import UTC, datetime
from typing import Unpack
from uuid import UUID

from penstock.artifact import Artifact
from penstock.engine import commands
from penstock.engine.protocol import Engine
from penstock.errors import ArtifactExpired, InvalidInput, PenstockError, UnknownArtifact
from penstock.job import new_job_id
from penstock.keeper import PutChoices
from penstock.now import run_now
from penstock.source import Source, chunks_of
from penstock.storage.adapter import Blocking, Face, Waiting
from penstock.storage.job_files import StoreKeeper, checked
from penstock.storage.links import Links
from penstock.storage.protocol import Opened, Store
from penstock.storage.settings import Storage
from penstock.storage.sweep import GRACE, Progress, Swept, remove_file, sweep
from penstock.storage.upload import Upload, upload

Listed = list[Artifact]
HOUR = 3600


class Artifacts:
    """`app.artifacts`: every method has an async twin whose name begins with a.

    ```python
    artifact = app.artifacts.put("note.txt", b"hello", owner="ada")
    assert app.artifacts.read(artifact.id) == b"hello"
    ```
    """

    def __init__(self, engine: Engine, storage: Storage) -> None:
        self.storage = storage
        self._waiting: Face = Waiting(engine)
        self._blocking: Face = Blocking(engine)
        self._engine = engine

    @property
    def store(self) -> Store:
        """Where the files are."""
        return self.storage.store

    @property
    def keeper(self) -> StoreKeeper:
        """What running jobs hand their files to."""
        return StoreKeeper(self._engine, self.storage)

    def put(
        self,
        name: str,
        data: Source,
        *,
        owner: str | None = None,
        org: str | None = None,
        job: UUID | None = None,
        quota: str | None = None,
        **choices: Unpack[PutChoices],
    ) -> Artifact:
        """Stores a file that no running job makes: what a user sent, for example. As `ctx.artifacts.put`, but it is
        said whose it is, to which job it belongs, without which it is in a folder of its own, and which `quota` of its
        owner it must fit into: else StorageFull."""
        return run_now(self._put(self._blocking, True, name, data, owner, org, job, quota, choices))

    async def aput(
        self,
        name: str,
        data: Source,
        *,
        owner: str | None = None,
        org: str | None = None,
        job: UUID | None = None,
        quota: str | None = None,
        **choices: Unpack[PutChoices],
    ) -> Artifact:
        return await self._put(self._waiting, False, name, data, owner, org, job, quota, choices)

    async def _put(
        self,
        face: Face,
        blocks: bool,
        name: str,
        data: Source,
        owner: str | None,
        org: str | None,
        job: UUID | None,
        quota: str | None,
        choices: PutChoices,
    ) -> Artifact:
        by = Upload(job or new_job_id(), owner, org, quota)
        new = checked(self.storage, by.job, owner, org, name, choices)
        store = self.storage.blocking_store if blocks else self.storage.store
        return await upload(face, store, by, new, chunks_of(data, blocks=blocks))

    def get(self, id: UUID) -> Artifact | None:
        """What is on record of an artifact; None when there is none."""
        return run_now(_get(self._blocking, id))

    async def aget(self, id: UUID) -> Artifact | None:
        return await _get(self._waiting, id)

    def find(self, *, path: str) -> Artifact | None:
        """The file that is stored under a path, as `artifact.path` tells it: also one that an attempt has stored and
        could tell nobody of."""
        return run_now(self._blocking.run(commands.ArtifactAt(path)))

    async def afind(self, *, path: str) -> Artifact | None:
        return await self._waiting.run(commands.ArtifactAt(path))

    def list(
        self,
        job: UUID | None = None,
        *,
        owner: str | None = None,
        org: str | None = None,
        before: UUID | None = None,
        limit: int = 50,
    ) -> Listed:
        """Everything of a job and of what is below it in its flow, in order; else the newest, a page at a time."""
        return run_now(_list(self._blocking, job, owner, org, before, limit))

    async def alist(
        self,
        job: UUID | None = None,
        *,
        owner: str | None = None,
        org: str | None = None,
        before: UUID | None = None,
        limit: int = 50,
    ) -> Listed:
        return await _list(self._waiting, job, owner, org, before, limit)

    def open(self, id: UUID, start: int = 0, end: int | None = None) -> Iterator[bytes]:
        """The file's bytes, a chunk at a time."""
        opened = run_now(_open(self._blocking, self.storage.blocking_store, id, start, end))
        while True:
            try:
                yield run_now(anext(opened.chunks))
            except StopAsyncIteration:
                return

    async def aopen(self, id: UUID, start: int = 0, end: int | None = None) -> AsyncIterator[bytes]:
        opened = await _open(self._waiting, self.store, id, start, end)
        async for chunk in opened.chunks:
            yield chunk

    def read(self, id: UUID) -> bytes:
        """The whole file: for small ones."""
        return b"".join(self.open(id))

    async def aread(self, id: UUID) -> bytes:
        return b"".join([chunk async for chunk in self.aopen(id)])

    def url(self, id: UUID, seconds: int = HOUR) -> str:
        """A link that anybody may download the file with, for so long."""
        return run_now(_url(self._blocking, self.storage.blocking_store, id, seconds))

    async def aurl(self, id: UUID, seconds: int = HOUR) -> str:
        return await _url(self._waiting, self.store, id, seconds)

    def delete(self, *ids: UUID) -> Sequence[UUID]:
        """Removes files; those that were there."""
        return run_now(_delete(self._blocking, self.storage.blocking_store, ids))

    async def adelete(self, *ids: UUID) -> Sequence[UUID]:
        return await _delete(self._waiting, self.store, ids)

    def due(self, *, grace: float = GRACE) -> int:
        """How many artifacts a sweep would remove, counted up to a thousand."""
        return self._engine.run(commands.ArtifactsDue(grace))

    def sweep(self, *, orphans: bool = False, grace: float = GRACE, progress: Progress | None = None) -> Swept:
        """Removes what has expired and what was interrupted; with `orphans` also files that no artifact names."""
        store = self.storage.blocking_store
        return run_now(sweep(self._blocking, store, grace=grace, orphans=orphans, progress=progress))

    async def asweep(self, *, orphans: bool = False, grace: float = GRACE, progress: Progress | None = None) -> Swept:
        return await sweep(self._waiting, self.store, grace=grace, orphans=orphans, progress=progress)


async def _get(face: Face, id: UUID) -> Artifact | None:
    found = await face.run(commands.ArtifactsById([id]))
    return found[0] if found else None


async def _list(
    face: Face, job: UUID | None, owner: str | None, org: str | None, before: UUID | None, limit: int
) -> Listed:
    if not 1 <= limit <= 1000:
        raise InvalidInput("limit", f"must be between 1 and 1000, not {limit}")
    if job is not None:
        return await face.run(commands.ArtifactsOfJob(job))
    return await face.run(commands.ListArtifacts(owner, org, before, limit))


async def find(face: Face, id: UUID) -> Artifact:
    """The artifact, if it can be read."""
    artifact = await _get(face, id)
    if artifact is None:
        raise UnknownArtifact(f"there is no artifact {id}")
    if artifact.expired:
        raise ArtifactExpired(f"artifact {id} expired on {artifact.expires_at:%Y-%m-%d %H:%M} UTC")
    return artifact


async def _open(face: Face, store: Store, id: UUID, start: int, end: int | None) -> Opened:
    artifact = await find(face, id)
    try:
        return await store.open(artifact.path, start, end)
    except FileNotFoundError:
        raise UnknownArtifact(f"the file of artifact {id} is gone") from None


async def _url(face: Face, store: Store, id: UUID, seconds: int) -> str:
    artifact = await find(face, id)
    if artifact.expires_at is not None:
        seconds = max(1, min(seconds, int((artifact.expires_at - datetime.now(UTC)).total_seconds())))
    url = await store.sign(artifact.path, seconds)
    if url is not None:
        return url
    named = (os.environ.get(f"PENSTOCK_{name}") for name in ("SIGNING_SECRET", "SERVICE_KEY", "PUBLIC_URL"))
    links = Links.derived_from(*named)
    if links is None:
        raise PenstockError(
            "files in a folder are served by `penstock server`, with links that it signs: set PENSTOCK_SIGNING_SECRET "
            "(or PENSTOCK_SERVICE_KEY) to the same here and there, and PENSTOCK_PUBLIC_URL to its address"
        )
    return links.make(id, int(time.time()) + seconds)


async def _delete(face: Face, store: Store, ids: Sequence[UUID]) -> Sequence[UUID]:
    marked = await face.run(commands.RemoveArtifacts(ids))
    for id in marked:
        await remove_file(face, store, id)
    return marked
