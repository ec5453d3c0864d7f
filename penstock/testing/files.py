"""Where the files of a run without a queue go: into memory."""

import hashlib
from datetime import UTC, datetime, timedelta
from typing import Unpack

from penstock.artifact import Artifact, ArtifactState, NewArtifact
from penstock.errors import ArtifactExists
from penstock.job import ClaimedJob, Lease
from penstock.keeper import achunks_of, chunks_of
from penstock.storage import PutChoices, Source
from penstock.storage.job_files import checked_metadata


class MemoryKeeper:
    """Checks like the real one, and keeps each file's bytes by its name."""

    def __init__(self, files: dict[str, bytes]) -> None:
        self._files = files

    def put(self, job: ClaimedJob, lease: Lease, name: str, data: Source, /, **choices: Unpack[PutChoices]) -> Artifact:
        del lease
        new = self._checked(job, name, choices)
        chunks = chunks_of(data)
        contents = chunks if isinstance(chunks, bytes) else b"".join(chunks)
        return self._kept(job, new, contents)

    async def aput(
        self, job: ClaimedJob, lease: Lease, name: str, data: Source, /, **choices: Unpack[PutChoices]
    ) -> Artifact:
        del lease
        new = self._checked(job, name, choices)
        chunks = achunks_of(data)
        contents = chunks if isinstance(chunks, bytes) else b"".join([chunk async for chunk in chunks])
        return self._kept(job, new, contents)

    def _checked(self, job: ClaimedJob, name: str, choices: PutChoices) -> NewArtifact:
        choices["metadata"] = checked_metadata(choices.get("metadata"))
        new = NewArtifact.of(job.owner, job.id, name, org=job.org, **choices)
        if name in self._files and not new.overwrite:
            raise ArtifactExists(f"there is an artifact {new.path} already")
        return new

    def _kept(self, job: ClaimedJob, new: NewArtifact, contents: bytes) -> Artifact:
        self._files[new.name] = contents
        now = datetime.now(UTC)
        return Artifact(
            id=new.id, job=job.id, owner=job.owner, org=job.org, kind=job.kind, name=new.name, type=new.type,
            path=new.path, content_type=new.content_type, size=len(contents), duration=new.duration,
            metadata=None if new.metadata is None else dict(new.metadata), state=ArtifactState.STORED,
            created_at=now, stored_at=now,
            expires_at=None if new.expires_in is None else now + timedelta(seconds=new.expires_in),
            downloads=0, digest=hashlib.sha256(contents).hexdigest(),
        )  # fmt: skip
