"""Files that jobs produced: announced, confirmed, looked up, removed."""

from collections.abc import Sequence
from dataclasses import dataclass
from uuid import UUID

from penstock.artifact import Artifact, ArtifactState, NewArtifact
from penstock.engine.call import Call, Row, first, nothing
from penstock.engine.calls.text import first_column, from_json, to_json
from penstock.job import JobState, Lease

_COLUMNS = """id, job, owner, org, kind, name, type, path, content_type, size, duration, metadata::text, state,
  created_at, stored_at, expires_at, downloads, digest"""
_METADATA, _STATE = 11, 12


def _read(rows: Sequence[Row]) -> list[Artifact]:
    artifacts = []
    for row in rows:
        values = list(row)
        values[_METADATA] = from_json(values[_METADATA])
        values[_STATE] = ArtifactState(values[_STATE])
        artifacts.append(Artifact(*values))
    return artifacts


@dataclass(frozen=True, slots=True)
class Announced:
    """The artifact's id, and whether there was none under its path; under a quota, how many bytes of it are left."""

    id: UUID
    fresh: bool
    room: int | None = None
    storage: int | None = None


def begin_artifact(lease: Lease, job: UUID, claims: int, new: NewArtifact) -> Call[Announced]:
    return Call(
        f"select id, fresh, room, storage from penstock.begin_artifact(%s, %s, %s, {_NEW})",
        [lease, job, claims, *_of_new(new)],
        lambda rows: Announced(*rows[0]),
        repeatable=True,
    )


def begin_upload(
    upload: int, job: UUID, owner: str | None, org: str | None, kind: str, new: NewArtifact, quota: str | None = None
) -> Call[Announced]:
    """The same for a file that no running job writes."""
    return Call(
        f"select id, fresh, room, storage from penstock.announce_artifact(%s, %s, {_UPLOAD}, %s, %s, %s, {_NEW}, %s)",
        [upload, job, owner, org, kind, *_of_new(new), quota],
        lambda rows: Announced(*rows[0]),
        repeatable=True,
    )


_UPLOAD = 0
"""Claims of a job begin at one."""
_NEW = "%s, %s, %s, %s, %s, %s, %s::text::jsonb, pg_catalog.make_interval(secs => %s), %s"


def _of_new(new: NewArtifact) -> list[object]:
    return [
        new.id, new.name, new.path, new.content_type, new.type, new.duration,
        None if new.metadata is None else to_json(new.metadata), new.expires_in, not new.overwrite,
    ]  # fmt: skip


def store_artifact(lease: Lease, job: UUID, claims: int, id: UUID, size: int, digest: str) -> Call[Artifact | None]:
    """The confirmed artifact; None when it is no longer this run's."""
    return Call(
        f"select {_COLUMNS} from penstock.store_artifact(%s, %s, %s, %s, %s, %s)",
        [lease, job, claims, id, size, digest],
        lambda rows: _read(rows)[0] if rows else None,
        repeatable=True,
    )


def is_writing(lease: Lease, job: UUID, claims: int, id: UUID) -> Call[bool]:
    return Call("select penstock.is_writing(%s, %s, %s, %s)", [lease, job, claims, id], first, repeatable=True)


def store_upload(upload: int, job: UUID, id: UUID, size: int, digest: str) -> Call[Artifact | None]:
    return Call(
        f"select {_COLUMNS} from penstock.confirm_artifact(%s, %s, {_UPLOAD}, %s, %s, %s)",
        [upload, job, id, size, digest],
        lambda rows: _read(rows)[0] if rows else None,
        repeatable=True,
    )


def is_uploading(upload: int, id: UUID) -> Call[bool]:
    return Call("select penstock.is_uploading(%s, %s)", [upload, id], first, repeatable=True)


def withdraw_upload(upload: int, id: UUID) -> Call[None]:
    return Call(f"select penstock.withdraw_artifact(%s, {_UPLOAD}, %s)", [upload, id], nothing, repeatable=True)


def abandon_upload(upload: int, path: str) -> Call[UUID | None]:
    """The artifact to remove, if it was still the caller's."""
    return Call(f"select penstock.abandon_artifact(%s, {_UPLOAD}, %s)", [upload, path], first, repeatable=True)


def abandon_artifact(lease: Lease, claims: int, path: str) -> Call[UUID | None]:
    return Call("select penstock.abandon_artifact(%s, %s, %s)", [lease, claims, path], first, repeatable=True)


def disown_artifact(id: UUID, job: UUID, kind: str, name: str, path: str) -> Call[bool]:
    """Whether the file that a refused run left is its own to remove."""
    return Call("select penstock.disown_artifact(%s, %s, %s, %s, %s)", [id, job, kind, name, path], first)


def withdraw_artifact(lease: Lease, claims: int, id: UUID) -> Call[None]:
    return Call("select penstock.withdraw_artifact(%s, %s, %s)", [lease, claims, id], nothing, repeatable=True)


def artifact_at(path: str) -> Call[Artifact | None]:
    return Call(
        f"select {_COLUMNS} from penstock.artifacts where path = %s and state = 'stored'",
        [path],
        lambda rows: _read(rows)[0] if rows else None,
        repeatable=True,
    )


def artifacts_by_id(ids: Sequence[UUID]) -> Call[list[Artifact]]:
    """Those that are stored, in the order of their jobs. A plain select: row level security decides for users."""
    return Call(
        f"select {_COLUMNS} from penstock.artifacts where id = any(%s::uuid[]) and state = 'stored' order by job, id",
        [list(ids)],
        _read,
        repeatable=True,
    )


def artifacts_of_jobs(jobs: Sequence[UUID]) -> Call[list[Artifact]]:
    """What these jobs themselves have stored; for users, what is theirs."""
    return Call(
        f"select {_COLUMNS} from penstock.artifacts where job = any(%s::uuid[]) and state = 'stored' order by job, id",
        [list(jobs)],
        _read,
        repeatable=True,
    )


def artifacts_of_job(job: UUID) -> Call[list[Artifact]]:
    """What a job and everything below it in its flow have stored, in order."""
    return Call(f"select {_COLUMNS} from penstock.artifacts_of_job(%s)", [job], _read, repeatable=True)


def list_artifacts(owner: str | None, org: str | None, before: UUID | None, limit: int) -> Call[list[Artifact]]:
    return Call(
        f"select {_COLUMNS} from penstock.list_artifacts(%s, %s, %s, %s)",
        [owner, org, before, limit],
        _read,
        repeatable=True,
    )


def job_tree(job: UUID) -> Call[list[tuple[UUID, str, JobState]]]:
    """A job and everything below it: id, kind, state."""
    return Call(
        "select id, kind, state::text from penstock.job_tree(%s)",
        [job],
        lambda rows: [(id, kind, JobState(state)) for id, kind, state in rows],
        repeatable=True,
    )


def count_downloads(ids: Sequence[UUID]) -> Call[None]:
    return Call("select penstock.count_downloads(%s::uuid[])", [list(ids)], nothing)


def remove_artifacts(ids: Sequence[UUID]) -> Call[list[UUID]]:
    """Marks them; those that were there."""
    return Call("select penstock.remove_artifacts(%s::uuid[])", [list(ids)], first_column)


def hold_removed(id: UUID) -> Call[str | None]:
    """For a transaction: the path to remove, held until its end."""
    return Call("select penstock.hold_removed(%s)", [id], lambda rows: rows[0][0] if rows else None)


def forget_artifact(id: UUID) -> Call[None]:
    return Call("select penstock.forget_artifact(%s)", [id], nothing)


def artifacts_due(grace: float) -> Call[int]:
    """How many a sweep would remove, up to a thousand."""
    return Call("select penstock.artifacts_due(pg_catalog.make_interval(secs => %s))", [grace], first, repeatable=True)


def stale_artifacts(grace: float, after: UUID | None, limit: int) -> Call[list[UUID]]:
    return Call(
        "select penstock.stale_artifacts(pg_catalog.make_interval(secs => %s), %s, %s)",
        [grace, after, limit],
        first_column,
        repeatable=True,
    )


def known_paths(paths: Sequence[str]) -> Call[set[str]]:
    return Call(
        "select penstock.known_paths(%s::text[])", [list(paths)], lambda rows: {row[0] for row in rows}, repeatable=True
    )


def adopt_orphan(path: str) -> Call[UUID | None]:
    return Call("select penstock.adopt_orphan(%s)", [path], lambda rows: rows[0][0] if rows else None)
