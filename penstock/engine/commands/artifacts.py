"""Files that jobs produced: announced, confirmed, looked up, removed."""

from collections.abc import Mapping, Sequence
from typing import Any
from uuid import UUID

import msgspec

from penstock.artifact import Artifact, NewArtifact
from penstock.engine.commands.command import Command, Repeatable

UPLOAD = 0
"""In place of a job's claims, which begin at one: no running job writes the file; the lease is the upload's number."""


class Announced(msgspec.Struct, frozen=True):
    """The artifact's id, and whether there was none under its path; under a quota, how many bytes of it are left."""

    id: UUID
    fresh: bool
    room: int | None = None
    storage: int | None = None


class BeginArtifact(Repeatable[Announced], frozen=True):
    lease: int
    job: UUID
    claims: int
    id: UUID
    name: str
    path: str
    content_type: str
    type: str | None
    duration: float | None
    metadata: Mapping[str, Any] | None
    expires_in: float | None
    create: bool

    @classmethod
    def of(cls, lease: int, job: UUID, claims: int, new: NewArtifact) -> "BeginArtifact":
        return cls(
            lease, job, claims, new.id, new.name, new.path, new.content_type, new.type, new.duration, new.metadata,
            new.expires_in, not new.overwrite,
        )  # fmt: skip


class AnnounceArtifact(Repeatable[Announced], frozen=True):
    """The same for a file that no running job writes."""

    lease: int
    job: UUID
    claims: int
    owner: str | None
    org: str | None
    kind: str
    id: UUID
    name: str
    path: str
    content_type: str
    type: str | None
    duration: float | None
    metadata: Mapping[str, Any] | None
    expires_in: float | None
    create: bool
    quota: str | None

    @classmethod
    def of(
        cls, upload: int, job: UUID, owner: str | None, org: str | None, kind: str, new: NewArtifact, quota: str | None
    ) -> "AnnounceArtifact":
        return cls(
            upload, job, UPLOAD, owner, org, kind, new.id, new.name, new.path, new.content_type, new.type, new.duration,
            new.metadata, new.expires_in, not new.overwrite, quota,
        )  # fmt: skip


class StoreArtifact(Repeatable[Artifact | None], frozen=True):
    """The confirmed artifact; None when it is no longer this run's."""

    lease: int
    job: UUID
    claims: int
    id: UUID
    size: int
    digest: str


class ConfirmArtifact(Repeatable[Artifact | None], frozen=True):
    """The same for an upload."""

    lease: int
    job: UUID
    claims: int
    id: UUID
    size: int
    digest: str


class IsWriting(Repeatable[bool], frozen=True):
    lease: int
    job: UUID
    claims: int
    id: UUID


class IsUploading(Repeatable[bool], frozen=True):
    upload: int
    id: UUID


class WithdrawArtifact(Repeatable[None], frozen=True):
    lease: int
    claims: int
    id: UUID


class AbandonArtifact(Repeatable[UUID | None], frozen=True):
    """The artifact to remove, if it was still the caller's."""

    lease: int
    claims: int
    path: str


class DisownArtifact(Command[bool], frozen=True):
    """Whether the file that a refused run left is its own to remove."""

    id: UUID
    job: UUID
    kind: str
    name: str
    path: str


class ArtifactsById(Repeatable[list[Artifact]], frozen=True):
    """Those that are stored, in the order of their jobs."""

    ids: Sequence[UUID]


class ArtifactAt(Repeatable[Artifact | None], frozen=True):
    """The one that is stored at a path."""

    path: str


class ArtifactsOfJobs(Repeatable[list[Artifact]], frozen=True):
    """What these jobs themselves have stored; for users, what is theirs."""

    jobs: Sequence[UUID]


class ArtifactsOfJob(Repeatable[list[Artifact]], frozen=True):
    """What a job and everything below it in its flow have stored, in order."""

    job: UUID


class ListArtifacts(Repeatable[list[Artifact]], frozen=True):
    owner: str | None
    org: str | None
    before: UUID | None
    limit: int


class CountDownloads(Command[None], frozen=True):
    ids: Sequence[UUID]


class RemoveArtifacts(Command[list[UUID]], frozen=True):
    """Marks them; those that were there."""

    ids: Sequence[UUID]


class HoldRemoved(Command[str | None], frozen=True):
    """For a transaction: the path to remove, held until its end."""

    id: UUID


class ForgetArtifact(Command[None], frozen=True):
    id: UUID


class ArtifactsDue(Repeatable[int], frozen=True):
    """How many a sweep would remove, up to a thousand."""

    grace: float


class StaleArtifacts(Repeatable[list[UUID]], frozen=True):
    grace: float
    after: UUID | None
    limit: int


class KnownPaths(Repeatable[list[str]], frozen=True):
    paths: Sequence[str]


class AdoptOrphan(Command[UUID | None], frozen=True):
    path: str
