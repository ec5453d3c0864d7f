"""What the API and its workers say to each other, as both ends of ours read and write it. docs/remote-workers.md is the
same for other languages."""

from collections.abc import Sequence
from datetime import datetime
from typing import Any
from uuid import UUID

import msgspec

from penstock.artifact import Artifact, ArtifactState
from penstock.job import ClaimedJob, JobState

MOST_JOBS = 1000
"""Jobs that one request may speak of."""

LONGEST_WAIT = 30.0
"""Seconds that an answer may be kept back until there is something to tell. Proxies give up after 60."""


class Opened(msgspec.Struct, frozen=True):
    lease: int
    seconds: float


class Beat(msgspec.Struct, frozen=True):
    """The answer to a heartbeat."""

    alive: bool
    cancelling: list[UUID]
    seconds: float | None = None
    wake: bool = False


class HeldJob(msgspec.Struct, frozen=True, rename="camel", gc=False):
    """A claimed job on its way to a worker. Arguments and options are passed on as Postgres wrote them."""

    id: UUID
    kind: str
    queue: str
    priority: int
    turn: int
    attempt: int
    max_attempts: int
    claims: int
    snoozes: int
    owner: str | None
    org: str | None
    parent: UUID | None
    created_at: datetime
    args: msgspec.Raw
    options: msgspec.Raw

    @classmethod
    def of(cls, job: ClaimedJob, queue: str) -> "HeldJob":
        return cls(
            job.id, job.kind, queue, job.priority, job.turn, job.attempt, job.max_attempts, job.claims, job.snoozes,
            job.owner, job.org, job.parent, job.created_at,
            msgspec.Raw(job.args.encode()), msgspec.Raw((job.options or "null").encode()),
        )  # fmt: skip

    def claimed(self) -> ClaimedJob:
        options = bytes(self.options).decode()
        return ClaimedJob(
            self.id, self.kind, self.priority, self.turn, self.attempt, self.max_attempts, self.claims, self.snoozes,
            self.owner, self.org, self.parent, self.created_at,
            bytes(self.args).decode(), None if options == "null" else options,
        )  # fmt: skip


class Claimed(msgspec.Struct, frozen=True):
    jobs: Sequence[HeldJob]


class Fate(msgspec.Struct, frozen=True, rename="camel", omit_defaults=True):
    """What became of one job that a worker spoke of."""

    id: UUID
    accepted: bool
    state: JobState | None = None
    run_at: datetime | None = None
    cancel_requested: bool | None = None


class Fates(msgspec.Struct, frozen=True):
    jobs: Sequence[Fate]


class Waits(msgspec.Struct, frozen=True, rename="camel"):
    """In how many seconds to look again all the same, and whether a rate holds for the queue."""

    rated: bool
    look_in: float | None


class Given(msgspec.Struct, frozen=True):
    """Jobs that were given back: their ids, or only how many."""

    released: list[UUID] | int


class Accepted(msgspec.Struct, frozen=True):
    accepted: bool


class Earlier(msgspec.Struct, frozen=True):
    """A job that another one waited for."""

    id: UUID
    name: str | None
    kind: str
    phase: str | None
    state: JobState
    args: msgspec.Raw
    output: msgspec.Raw


class StoredFile(msgspec.Struct, frozen=True, rename="camel"):
    """An artifact as it was stored."""

    id: UUID
    job: UUID
    owner: str | None
    org: str | None
    kind: str
    name: str
    type: str | None
    path: str
    content_type: str
    size: int | None
    duration: float | None
    metadata: dict[str, Any] | None
    state: ArtifactState
    created_at: datetime
    stored_at: datetime | None
    expires_at: datetime | None
    downloads: int
    digest: str | None

    @classmethod
    def of(cls, artifact: Artifact) -> "StoredFile":
        return cls(*(getattr(artifact, name) for name in cls.__struct_fields__))

    def artifact(self) -> Artifact:
        return Artifact(*(getattr(self, name) for name in self.__struct_fields__))


class Waiting(msgspec.Struct, frozen=True, rename="camel"):
    """What a queue has at hand."""

    queue: str
    ready: int
    running: int
    oldest_seconds: float | None
