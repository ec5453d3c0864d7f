"""Writing the file of an artifact: row first, then the file, then the row is confirmed."""

import secrets
from collections.abc import AsyncIterator, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Protocol
from uuid import UUID

from penstock.artifact import Artifact, NewArtifact
from penstock.engine import commands
from penstock.engine.commands.command import Command
from penstock.engine.protocol import Engine
from penstock.errors import ArtifactExists, LeaseLost, StorageFull
from penstock.job import ClaimedJob, Lease
from penstock.storage.protocol import Store
from penstock.storage.sweep import aremove_file, remove_file


class Writer(Protocol):
    """Who writes a file, and how the database is told. Another may take its place; then it is refused."""

    def begin(self, new: NewArtifact) -> Command[commands.Announced]: ...

    def may_go_on(self, id: UUID) -> Command[bool]: ...

    def store(self, id: UUID, size: int, digest: str) -> Command[Artifact | None]: ...

    def withdraw(self, id: UUID) -> Command[None]: ...

    def abandon(self, path: str) -> Command[UUID | None]: ...

    def disown(self, id: UUID, new: NewArtifact) -> Command[bool]: ...

    def refused(self, name: str) -> Exception: ...


class JobWriter:
    """A worker that holds a job."""

    def __init__(self, job: ClaimedJob, lease: Lease) -> None:
        self._job = job
        self._lease = lease

    def begin(self, new: NewArtifact) -> Command[commands.Announced]:
        return commands.BeginArtifact.of(self._lease, self._job.id, self._job.claims, new)

    def may_go_on(self, id: UUID) -> Command[bool]:
        return commands.IsWriting(self._lease, self._job.id, self._job.claims, id)

    def store(self, id: UUID, size: int, digest: str) -> Command[Artifact | None]:
        return commands.StoreArtifact(self._lease, self._job.id, self._job.claims, id, size, digest)

    def withdraw(self, id: UUID) -> Command[None]:
        return commands.WithdrawArtifact(self._lease, self._job.claims, id)

    def abandon(self, path: str) -> Command[UUID | None]:
        return commands.AbandonArtifact(self._lease, self._job.claims, path)

    def disown(self, id: UUID, new: NewArtifact) -> Command[bool]:
        return commands.DisownArtifact(id, self._job.id, self._job.kind, new.name, new.path)

    def refused(self, name: str) -> Exception:
        return LeaseLost(f"job {self._job.id} is no longer this worker's: its artifact {name} is not kept")


def write(engine: Engine, store: Store, writer: Writer, new: NewArtifact, data: bytes | Iterator[bytes]) -> Artifact:
    """Stores a file. Raises what the writer says (LeaseLost, …) when it is another's to write by now, and StorageFull
    when it does not fit into its owner's quota: then nothing of it is left."""
    announced = engine.run(writer.begin(new))
    id = announced.id
    try:
        # under a row that was there already the file is ours: an earlier attempt may have left it
        create = announced.fresh and not new.overwrite
        written = store.put(
            new.path,
            _fitting(announced, data) if isinstance(data, bytes) else _while_ours(engine, writer, new, announced, data),
            create=create,
            content_type=new.content_type,
            filename=new.name,
        )
        # any other failure leaves the announcement: the handler may try again, else a sweep removes what there is
        stored = engine.run(writer.store(id, written.size, written.digest))
    except ArtifactExists:
        engine.run(writer.withdraw(id))
        raise
    except StorageFull:
        if engine.run(writer.abandon(new.path)):
            remove_file(engine, store, id)
        raise
    if stored is None:
        if engine.run(writer.disown(id, new)):
            remove_file(engine, store, id)
        raise writer.refused(new.name)
    return stored


async def awrite(
    engine: Engine, store: Store, writer: Writer, new: NewArtifact, data: bytes | AsyncIterator[bytes]
) -> Artifact:
    announced = await engine.arun(writer.begin(new))
    id = announced.id
    try:
        # under a row that was there already the file is ours: an earlier attempt may have left it
        create = announced.fresh and not new.overwrite
        written = await store.aput(
            new.path,
            _fitting(announced, data)
            if isinstance(data, bytes)
            else _awhile_ours(engine, writer, new, announced, data),
            create=create,
            content_type=new.content_type,
            filename=new.name,
        )
        # any other failure leaves the announcement: the handler may try again, else a sweep removes what there is
        stored = await engine.arun(writer.store(id, written.size, written.digest))
    except ArtifactExists:
        await engine.arun(writer.withdraw(id))
        raise
    except StorageFull:
        if await engine.arun(writer.abandon(new.path)):
            await aremove_file(engine, store, id)
        raise
    if stored is None:
        if await engine.arun(writer.disown(id, new)):
            await aremove_file(engine, store, id)
        raise writer.refused(new.name)
    return stored


def _fitting(announced: commands.Announced, data: bytes, before: int = 0) -> bytes:
    """The data, if there is room for it after so many bytes."""
    if announced.room is not None and announced.storage is not None and before + len(data) > announced.room:
        used = announced.storage - announced.room
        raise StorageFull(
            f"storage: {used} of {announced.storage} bytes are used, and this file does not fit; "
            "delete what you no longer need",
            used=used,
            limit=announced.storage,
        )
    return data


def _while_ours(
    engine: Engine, writer: Writer, new: NewArtifact, announced: commands.Announced, chunks: Iterator[bytes]
) -> Iterator[bytes]:
    """The chunks, no further than there is room for them; but when they have all come, which may have taken long, only
    if the file is still this writer's: it must not appear in place of what the next one has written meanwhile."""
    size = 0
    for chunk in chunks:
        yield _fitting(announced, chunk, size)
        size += len(chunk)
    if not engine.run(writer.may_go_on(announced.id)):
        raise writer.refused(new.name)


async def _awhile_ours(
    engine: Engine, writer: Writer, new: NewArtifact, announced: commands.Announced, chunks: AsyncIterator[bytes]
) -> AsyncIterator[bytes]:
    size = 0
    async for chunk in chunks:
        yield _fitting(announced, chunk, size)
        size += len(chunk)
    if not await engine.arun(writer.may_go_on(announced.id)):
        raise writer.refused(new.name)


KIND = "upload"


def _new_number() -> int:
    return -1 - secrets.randbits(62)


@dataclass(frozen=True, slots=True)
class Upload:
    """One writing of one file. It has a number where a running job has its lease; below zero, so that it is nobody's
    lease, and by chance, so that of two uploads to one path only the later is kept."""

    job: UUID
    owner: str | None
    org: str | None
    quota: str | None = None
    number: int = field(default_factory=_new_number)

    def begin(self, new: NewArtifact) -> Command[commands.Announced]:
        return commands.AnnounceArtifact.of(self.number, self.job, self.owner, self.org, KIND, new, self.quota)

    def may_go_on(self, id: UUID) -> Command[bool]:
        return commands.IsUploading(self.number, id)

    def store(self, id: UUID, size: int, digest: str) -> Command[Artifact | None]:
        return commands.ConfirmArtifact(self.number, self.job, commands.UPLOAD, id, size, digest)

    def withdraw(self, id: UUID) -> Command[None]:
        return commands.WithdrawArtifact(self.number, commands.UPLOAD, id)

    def abandon(self, path: str) -> Command[UUID | None]:
        return commands.AbandonArtifact(self.number, commands.UPLOAD, path)

    def disown(self, id: UUID, new: NewArtifact) -> Command[bool]:
        return commands.DisownArtifact(id, self.job, KIND, new.name, new.path)

    def refused(self, name: str) -> Exception:
        return ArtifactExists(f"{name} was written or removed by another meanwhile; this upload of it is not kept")


def upload(engine: Engine, store: Store, by: Upload, new: NewArtifact, data: bytes | Iterator[bytes]) -> Artifact:
    """Stores a file; what is broken off leaves nothing. A writer that is killed leaves it to the sweep, in a day."""
    try:
        return write(engine, store, by, new, data)
    except BaseException:
        with suppress(Exception):  # what cannot be cleaned up either is left to the sweep
            id = engine.run(by.abandon(new.path))
            if id is not None:
                remove_file(engine, store, id)
        raise


async def aupload(
    engine: Engine, store: Store, by: Upload, new: NewArtifact, data: bytes | AsyncIterator[bytes]
) -> Artifact:
    try:
        return await awrite(engine, store, by, new, data)
    except BaseException:
        with suppress(Exception):  # what cannot be cleaned up either is left to the sweep
            id = await engine.arun(by.abandon(new.path))
            if id is not None:
                await aremove_file(engine, store, id)
        raise
