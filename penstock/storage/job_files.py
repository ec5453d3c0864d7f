"""What a handler sees: ctx.artifacts."""

from collections.abc import Mapping
from typing import Any, Unpack
from uuid import UUID

from penstock.artifact import Artifact, NewArtifact
from penstock.engine.protocol import Engine
from penstock.errors import InvalidInput
from penstock.job import ClaimedJob, Lease
from penstock.json import encode_args, loads
from penstock.keeper import Keeper, PutChoices, Source, achunks_of, chunks_of
from penstock.storage.settings import Storage
from penstock.storage.write import JobWriter, awrite, write

MAX_METADATA = 16 * 1024


def checked_metadata(metadata: Mapping[str, Any] | None) -> dict[str, Any] | None:
    """As JSON gives it back; refused by name when it has no JSON form, or is as large as a file."""
    if metadata is None:
        return None
    if not isinstance(metadata, Mapping):
        raise InvalidInput("metadata", f"must be a dict, not {type(metadata).__name__}")
    checked: dict[str, Any] = loads(encode_args(metadata, MAX_METADATA, whole="metadata"))
    return checked


def checked(
    storage: Storage, job: UUID, owner: str | None, org: str | None, name: str, choices: PutChoices
) -> NewArtifact:
    """A file as it is to be stored there; what cannot be is refused by the name of its field."""
    kept = choices.get("expires_in")
    said: PutChoices = {
        **choices,
        "expires_in": storage.kept if kept is None else kept,
        "metadata": checked_metadata(choices.get("metadata")),
    }
    return NewArtifact.of(owner, job, name, org=org, **said)


class StoreKeeper:
    """Keeps files in the application's own store."""

    def __init__(self, engine: Engine, storage: Storage) -> None:
        self._engine = engine
        self.storage = storage

    def put(self, job: ClaimedJob, lease: Lease, name: str, data: Source, /, **choices: Unpack[PutChoices]) -> Artifact:
        new = checked(self.storage, job.id, job.owner, job.org, name, choices)
        return write(self._engine, self.storage.store, JobWriter(job, lease), new, chunks_of(data))

    async def aput(
        self, job: ClaimedJob, lease: Lease, name: str, data: Source, /, **choices: Unpack[PutChoices]
    ) -> Artifact:
        new = checked(self.storage, job.id, job.owner, job.org, name, choices)
        return await awrite(self._engine, self.storage.store, JobWriter(job, lease), new, achunks_of(data))


def keeper_for(engine: Engine, storage: Storage | None) -> Keeper | None:
    """Who takes the files of an engine's jobs: a way of its own, or a store."""
    if engine.keeper is not None or storage is None:
        return engine.keeper
    return StoreKeeper(engine, storage)


class ArtifactsOfJob:
    """`ctx.artifacts` of an async handler."""

    def __init__(self, job: ClaimedJob, lease: Lease, keeper: Keeper) -> None:
        self._job = job
        self._lease = lease
        self._keeper = keeper

    async def put(
        self,
        name: str,
        data: Source,
        *,
        type: str | None = None,
        content_type: str | None = None,
        duration: float | None = None,
        metadata: Mapping[str, Any] | None = None,
        expires_in: float | None = None,
        overwrite: bool = True,
        path: str | None = None,
    ) -> Artifact:
        """Stores a file of this job: bytes, a Path, a binary file, or an iterator of bytes, sync or async.

        It goes to the job's folder, below that of its owner, under `name`; or to `path` below the owner's folder. The
        same name again overwrites it, unless overwrite=False. It is kept `expires_in` seconds; math.inf is for ever.
        """
        return await self._keeper.aput(
            self._job, self._lease, name, data, type=type, content_type=content_type, duration=duration,
            metadata=metadata, expires_in=expires_in, overwrite=overwrite, path=path,
        )  # fmt: skip


class SyncArtifactsOfJob:
    """`ctx.artifacts` of a sync handler."""

    def __init__(self, job: ClaimedJob, lease: Lease, keeper: Keeper) -> None:
        self._job = job
        self._lease = lease
        self._keeper = keeper

    def put(
        self,
        name: str,
        data: Source,
        *,
        type: str | None = None,
        content_type: str | None = None,
        duration: float | None = None,
        metadata: Mapping[str, Any] | None = None,
        expires_in: float | None = None,
        overwrite: bool = True,
        path: str | None = None,
    ) -> Artifact:
        """Stores a file of this job; see ArtifactsOfJob.put."""
        return self._keeper.put(
            self._job, self._lease, name, data, type=type, content_type=content_type, duration=duration,
            metadata=metadata, expires_in=expires_in, overwrite=overwrite, path=path,
        )  # fmt: skip
