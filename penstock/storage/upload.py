"""Files that no running job writes: what a user sent, what an endpoint made."""

import secrets
from collections.abc import AsyncIterator, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from uuid import UUID

from penstock.artifact import Artifact, NewArtifact
from penstock.engine import commands
from penstock.engine.commands.command import Command
from penstock.engine.protocol import Engine
from penstock.errors import ArtifactExists
from penstock.storage.protocol import Store
from penstock.storage.sweep import aremove_file, remove_file
from penstock.storage.write import awrite, write

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
