"""`app.artifacts`: taking files that no job makes; looking through all, reading, linking and removing them."""

import os
import time
from collections.abc import AsyncIterator, Iterator, Sequence
from datetime import UTC, datetime
from typing import Unpack
from uuid import UUID

from penstock.artifact import Artifact
from penstock.engine import commands
from penstock.engine.commands.command import Command
from penstock.engine.protocol import Engine
from penstock.errors import ArtifactExpired, InvalidInput, PenstockError, UnknownArtifact
from penstock.job import new_job_id
from penstock.keeper import PutChoices, Source, achunks_of, chunks_of
from penstock.storage.job_files import StoreKeeper, checked
from penstock.storage.links import Links
from penstock.storage.protocol import Store
from penstock.storage.settings import Storage
from penstock.storage.sweep import GRACE, Progress, Swept, aremove_file, asweep, remove_file, sweep
from penstock.storage.write import Upload, aupload, upload

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
        """Stores a file that no running job makes: one that a user sent, for example. Besides what `ctx.artifacts.put`
        takes, `owner` and `org` say whose it is, and `job` which job it belongs to; without one it gets a folder of its
        own. Raises StorageFull when it does not fit into the `quota` of its owner."""
        by = Upload(job or new_job_id(), owner, org, quota)
        new = checked(self.storage, by.job, owner, org, name, choices)
        return upload(self._engine, self.store, by, new, chunks_of(data))

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
        by = Upload(job or new_job_id(), owner, org, quota)
        new = checked(self.storage, by.job, owner, org, name, choices)
        return await aupload(self._engine, self.store, by, new, achunks_of(data))

    def get(self, id: UUID) -> Artifact | None:
        """What is on record of an artifact; None when there is none."""
        found = self._engine.run(commands.ArtifactsById([id]))
        return found[0] if found else None

    async def aget(self, id: UUID) -> Artifact | None:
        found = await self._engine.arun(commands.ArtifactsById([id]))
        return found[0] if found else None

    def find(self, *, path: str) -> Artifact | None:
        """The file that is stored under a path, `artifact.path`; None when there is none. It may be one that an attempt
        stored before it was lost."""
        return self._engine.run(commands.ArtifactAt(path))

    async def afind(self, *, path: str) -> Artifact | None:
        return await self._engine.arun(commands.ArtifactAt(path))

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
        return self._engine.run(_listing(job, owner, org, before, limit))

    async def alist(
        self,
        job: UUID | None = None,
        *,
        owner: str | None = None,
        org: str | None = None,
        before: UUID | None = None,
        limit: int = 50,
    ) -> Listed:
        return await self._engine.arun(_listing(job, owner, org, before, limit))

    def open(self, id: UUID, start: int = 0, end: int | None = None) -> Iterator[bytes]:
        """The file's bytes, a chunk at a time."""
        artifact = _readable(self.get(id), id)
        try:
            opened = self.store.open(artifact.path, start, end)
        except FileNotFoundError:
            raise UnknownArtifact(f"the file of artifact {id} is gone") from None
        yield from opened.chunks

    async def aopen(self, id: UUID, start: int = 0, end: int | None = None) -> AsyncIterator[bytes]:
        artifact = _readable(await self.aget(id), id)
        try:
            opened = await self.store.aopen(artifact.path, start, end)
        except FileNotFoundError:
            raise UnknownArtifact(f"the file of artifact {id} is gone") from None
        async for chunk in opened.chunks:
            yield chunk

    def read(self, id: UUID) -> bytes:
        """The whole file: for small ones."""
        return b"".join(self.open(id))

    async def aread(self, id: UUID) -> bytes:
        return b"".join([chunk async for chunk in self.aopen(id)])

    def url(self, id: UUID, seconds: int = HOUR) -> str:
        """A link by which anybody can download the file, for so many seconds."""
        artifact = _readable(self.get(id), id)
        seconds = _while_it_lasts(artifact, seconds)
        return self.store.sign(artifact.path, seconds) or _own_link(id, seconds)

    async def aurl(self, id: UUID, seconds: int = HOUR) -> str:
        artifact = _readable(await self.aget(id), id)
        seconds = _while_it_lasts(artifact, seconds)
        return await self.store.asign(artifact.path, seconds) or _own_link(id, seconds)

    def delete(self, *ids: UUID) -> Sequence[UUID]:
        """Removes files. Returns the ids of those that were there."""
        marked = self._engine.run(commands.RemoveArtifacts(ids))
        self.remove_files(marked)
        return marked

    async def adelete(self, *ids: UUID) -> Sequence[UUID]:
        marked = await self._engine.arun(commands.RemoveArtifacts(ids))
        await self.aremove_files(marked)
        return marked

    def remove_files(self, marked: Sequence[UUID]) -> None:
        """Removes the files of artifacts that are marked as removed, as a sweep would."""
        for id in marked:
            remove_file(self._engine, self.store, id)

    async def aremove_files(self, marked: Sequence[UUID]) -> None:
        for id in marked:
            await aremove_file(self._engine, self.store, id)

    def due(self, *, grace: float = GRACE) -> int:
        """How many artifacts a sweep would remove, counted up to a thousand."""
        return self._engine.run(commands.ArtifactsDue(grace))

    async def adue(self, *, grace: float = GRACE) -> int:
        return await self._engine.arun(commands.ArtifactsDue(grace))

    def sweep(self, *, orphans: bool = False, grace: float = GRACE, progress: Progress | None = None) -> Swept:
        """Removes what has expired and what was interrupted; with `orphans` also files that no artifact names."""
        return sweep(self._engine, self.store, grace=grace, orphans=orphans, progress=progress)

    async def asweep(self, *, orphans: bool = False, grace: float = GRACE, progress: Progress | None = None) -> Swept:
        return await asweep(self._engine, self.store, grace=grace, orphans=orphans, progress=progress)


def _listing(job: UUID | None, owner: str | None, org: str | None, before: UUID | None, limit: int) -> Command[Listed]:
    if not 1 <= limit <= 1000:
        raise InvalidInput("limit", f"must be between 1 and 1000, not {limit}")
    return commands.ListArtifacts(owner, org, before, limit) if job is None else commands.ArtifactsOfJob(job)


def _readable(artifact: Artifact | None, id: UUID) -> Artifact:
    if artifact is None:
        raise UnknownArtifact(f"there is no artifact {id}")
    if artifact.expired:
        raise ArtifactExpired(f"artifact {id} expired on {artifact.expires_at:%Y-%m-%d %H:%M} UTC")
    return artifact


def _while_it_lasts(artifact: Artifact, seconds: int) -> int:
    if artifact.expires_at is None:
        return seconds
    return max(1, min(seconds, int((artifact.expires_at - datetime.now(UTC)).total_seconds())))


def _own_link(id: UUID, seconds: int) -> str:
    """Where the store has none to give."""
    named = (os.environ.get(f"PENSTOCK_{name}") for name in ("SIGNING_SECRET", "SERVICE_KEY", "PUBLIC_URL"))
    links = Links.derived_from(*named)
    if links is None:
        raise PenstockError(
            "files in a folder are served by `penstock server`, with links that it signs: set PENSTOCK_SIGNING_SECRET "
            "(or PENSTOCK_SERVICE_KEY) to the same here and there, and PENSTOCK_PUBLIC_URL to its address"
        )
    return links.make(id, int(time.time()) + seconds)
