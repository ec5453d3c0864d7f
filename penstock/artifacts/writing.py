"""Writing the file of an artifact: row first, then the file, then the row is confirmed."""

from collections.abc import AsyncIterator
from uuid import UUID

from penstock.artifact import Artifact, NewArtifact
from penstock.artifacts.faces import Face
from penstock.artifacts.sweeping import remove_file
from penstock.engine import calls
from penstock.errors import ArtifactExists, LeaseLost
from penstock.job import ClaimedJob, Lease
from penstock.storage import Store


async def write(
    face: Face, store: Store, job: ClaimedJob, lease: Lease, new: NewArtifact, data: bytes | AsyncIterator[bytes]
) -> Artifact:
    """Stores a file for a running job. Raises LeaseLost when the job is another worker's by now."""
    id, fresh = await face.run(calls.begin_artifact(lease, job.id, job.claims, new))
    try:
        written = await store.put(
            new.path,
            data if isinstance(data, bytes) else _while_ours(face, job, lease, id, new, data),
            # under a row that was there already the file is ours: an earlier attempt may have left it
            create=fresh and not new.overwrite,
            content_type=new.content_type,
            filename=new.name,
        )
    except ArtifactExists:
        await face.run(calls.withdraw_artifact(lease, job.claims, id))
        raise
    # any other failure leaves the announcement: the handler may try again, else a sweep removes what there is
    stored = await face.run(calls.store_artifact(lease, job.id, job.claims, id, written.size, written.digest))
    if stored is None:
        if await face.run(calls.disown_artifact(id, job.id, job.kind, new.name, new.path)):
            await remove_file(face, store, id)
        raise _lost(job, new.name)
    return stored


async def _while_ours(
    face: Face, job: ClaimedJob, lease: Lease, id: UUID, new: NewArtifact, chunks: AsyncIterator[bytes]
) -> AsyncIterator[bytes]:
    """The chunks; but when they have all come, which may have taken long, only if the job is still this worker's: the
    file must not appear in place of what the next worker has written meanwhile."""
    async for chunk in chunks:
        yield chunk
    if not await face.run(calls.is_writing(lease, job.id, job.claims, id)):
        raise _lost(job, new.name)


def _lost(job: ClaimedJob, name: str) -> LeaseLost:
    return LeaseLost(f"job {job.id} is no longer this worker's: its artifact {name} is not kept")
