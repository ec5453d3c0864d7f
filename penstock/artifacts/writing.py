"""Writing the file of an artifact: row first, then the file, then the row is confirmed."""

from collections.abc import AsyncIterator
from typing import Protocol
from uuid import UUID

from penstock.artifact import Artifact, NewArtifact
from penstock.artifacts.faces import Face
from penstock.artifacts.sweeping import remove_file
from penstock.engine import calls
from penstock.engine.call import Call
from penstock.errors import ArtifactExists, LeaseLost
from penstock.job import ClaimedJob, Lease
from penstock.storage import Store


class Writer(Protocol):
    """Who writes a file, and how the database is told. Another may take its place; then it is refused."""

    def begin(self, new: NewArtifact) -> Call[tuple[UUID, bool]]: ...

    def may_go_on(self, id: UUID) -> Call[bool]: ...

    def store(self, id: UUID, size: int, digest: str) -> Call[Artifact | None]: ...

    def withdraw(self, id: UUID) -> Call[None]: ...

    def disown(self, id: UUID, new: NewArtifact) -> Call[bool]: ...

    def refused(self, name: str) -> Exception: ...


class RunningJob:
    """A worker that holds a job."""

    def __init__(self, job: ClaimedJob, lease: Lease) -> None:
        self._job = job
        self._lease = lease

    def begin(self, new: NewArtifact) -> Call[tuple[UUID, bool]]:
        return calls.begin_artifact(self._lease, self._job.id, self._job.claims, new)

    def may_go_on(self, id: UUID) -> Call[bool]:
        return calls.is_writing(self._lease, self._job.id, self._job.claims, id)

    def store(self, id: UUID, size: int, digest: str) -> Call[Artifact | None]:
        return calls.store_artifact(self._lease, self._job.id, self._job.claims, id, size, digest)

    def withdraw(self, id: UUID) -> Call[None]:
        return calls.withdraw_artifact(self._lease, self._job.claims, id)

    def disown(self, id: UUID, new: NewArtifact) -> Call[bool]:
        return calls.disown_artifact(id, self._job.id, self._job.kind, new.name, new.path)

    def refused(self, name: str) -> Exception:
        return LeaseLost(f"job {self._job.id} is no longer this worker's: its artifact {name} is not kept")


async def write(
    face: Face, store: Store, writer: Writer, new: NewArtifact, data: bytes | AsyncIterator[bytes]
) -> Artifact:
    """Stores a file. Raises what the writer says (LeaseLost, …) when it is another's to write by now."""
    id, fresh = await face.run(writer.begin(new))
    try:
        written = await store.put(
            new.path,
            data if isinstance(data, bytes) else _while_ours(face, writer, id, new, data),
            # under a row that was there already the file is ours: an earlier attempt may have left it
            create=fresh and not new.overwrite,
            content_type=new.content_type,
            filename=new.name,
        )
    except ArtifactExists:
        await face.run(writer.withdraw(id))
        raise
    # any other failure leaves the announcement: the handler may try again, else a sweep removes what there is
    stored = await face.run(writer.store(id, written.size, written.digest))
    if stored is None:
        if await face.run(writer.disown(id, new)):
            await remove_file(face, store, id)
        raise writer.refused(new.name)
    return stored


async def _while_ours(
    face: Face, writer: Writer, id: UUID, new: NewArtifact, chunks: AsyncIterator[bytes]
) -> AsyncIterator[bytes]:
    """The chunks; but when they have all come, which may have taken long, only if the file is still this writer's: it
    must not appear in place of what the next one has written meanwhile."""
    async for chunk in chunks:
        yield chunk
    if not await face.run(writer.may_go_on(id)):
        raise writer.refused(new.name)
