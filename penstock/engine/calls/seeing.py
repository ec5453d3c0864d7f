"""Jobs as their owners see them. A user's calls run under their role, where the database decides what there is to see.

Each row comes as one piece of JSON: msgspec reads it in 5 µs, where psycopg takes 100 for twenty columns.
"""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any
from uuid import UUID

import msgspec

from penstock.artifact import Artifact
from penstock.engine.call import Call, Row
from penstock.engine.calls.text import to_json
from penstock.job import JobState

_COLUMNS = """id, queue, kind, state, priority, attempt, max_attempts, parent, owner, org, cancel_requested, args,
  coalesce(progress, '{}') as progress, rollup, output, created_at, run_at, started_at, finished_at"""
_SHOWN = "case when state in ('failed', 'cancelled') then penstock.shown(errors) end as error"
_ARTIFACTS = "penstock.artifacts_shown(id, rollup is not null) as artifacts"


class SeenJob(msgspec.Struct, frozen=True, kw_only=True):
    """`error` is why it did not succeed, in words meant to be shown."""

    id: UUID
    queue: str
    kind: str
    state: JobState
    priority: int
    attempt: int
    max_attempts: int
    parent: UUID | None
    owner: str | None
    org: str | None
    cancel_requested: bool
    args: dict[str, Any]
    progress: dict[str, Any]
    rollup: dict[str, Any] | None
    output: Any
    created_at: datetime
    run_at: datetime
    started_at: datetime | None
    finished_at: datetime | None
    error: str | None
    artifacts: list[Artifact] | None = None
    """Those of the job and of everything below it; None when they were not asked for."""
    parked_reason: str | None = None
    """For the service only: why it waits for another worker."""
    errors: list[dict[str, Any]] | None = None
    """For the service only, where one job was asked for: each failed attempt's error, with its traceback."""


_decode = msgspec.json.Decoder(SeenJob).decode


def _read(rows: Sequence[Row]) -> list[SeenJob]:
    return [_decode(row[0]) for row in rows]


def _read_one(rows: Sequence[Row]) -> SeenJob | None:
    return _decode(rows[0][0]) if rows else None


def _one_by_one(columns: str, source: str) -> str:
    return f"select pg_catalog.row_to_json(seen)::text from (select {columns} from {source}) as seen"


_ONE = _one_by_one(f"{_COLUMNS}, {_SHOWN}, {_ARTIFACTS}, parked_reason", "penstock.get_job(%s)")
_WHOLE = _one_by_one(f"{_COLUMNS}, {_SHOWN}, {_ARTIFACTS}, parked_reason, errors", "penstock.get_job(%s)")
_MY_ONE = _one_by_one(f"{_COLUMNS}, error, {_ARTIFACTS}", "penstock.get_my_job(%s)")
_SEVERAL = _one_by_one(f"{_COLUMNS}, {_SHOWN}, parked_reason", "penstock.list_jobs(%s::text::jsonb, %s, %s)")
_MY_SEVERAL = _one_by_one(f"{_COLUMNS}, error", "penstock.list_my_jobs(%s::text::jsonb, %s, %s)")


def see_job(id: UUID) -> Call[SeenJob | None]:
    return Call(_ONE, [id], _read_one, repeatable=True)


def see_whole_job(id: UUID) -> Call[SeenJob | None]:
    """With the errors of its attempts, which whoever watches a job need not carry around."""
    return Call(_WHOLE, [id], _read_one, repeatable=True)


def see_my_job(id: UUID) -> Call[SeenJob | None]:
    return Call(_MY_ONE, [id], _read_one, repeatable=True)


def see_jobs(filter: Mapping[str, Any], before: UUID | None, limit: int) -> Call[list[SeenJob]]:
    return Call(_SEVERAL, [to_json(filter), before, limit], _read, repeatable=True)


def see_my_jobs(filter: Mapping[str, Any], before: UUID | None, limit: int) -> Call[list[SeenJob]]:
    return Call(_MY_SEVERAL, [to_json(filter), before, limit], _read, repeatable=True)
