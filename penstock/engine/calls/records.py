"""Looking at jobs and changing their course."""

from collections.abc import Mapping, Sequence
from typing import Any
from uuid import UUID

from penstock.engine.call import Call, Row, first
from penstock.engine.calls.text import from_json, to_json
from penstock.job import Job, JobState

_JOB_COLUMNS = """id, queue, kind, state::text, priority, attempt, max_attempts, snoozes, max_snoozes, waiting_on,
  parent, owner, org, unique_key, limit_key, phase, weight, cancel_requested, args::text, progress::text, errors::text,
  options::text, output::text, created_at, run_at, started_at, finished_at,
  parked_since, parked_reason"""

_STATE, _ARGS, _PROGRESS, _ERRORS, _OPTIONS, _OUTPUT = 3, 18, 19, 20, 21, 22


def _read_jobs(rows: Sequence[Row]) -> list[Job]:
    jobs = []
    for row in rows:
        values = list(row)
        values[_STATE] = JobState(values[_STATE])
        values[_ARGS] = from_json(values[_ARGS])
        values[_PROGRESS] = from_json(values[_PROGRESS]) or {}
        values[_ERRORS] = from_json(values[_ERRORS]) or []
        values[_OPTIONS] = from_json(values[_OPTIONS]) or {}
        values[_OUTPUT] = from_json(values[_OUTPUT])
        jobs.append(Job(*values))
    return jobs


def get_job(id: UUID) -> Call[Job | None]:
    return Call(
        f"select {_JOB_COLUMNS} from penstock.get_job(%s)",
        [id],
        lambda rows: _read_jobs(rows)[0] if rows else None,
        repeatable=True,
    )


def list_jobs(filter: Mapping[str, Any], before: UUID | None, limit: int) -> Call[list[Job]]:
    return Call(
        f"select {_JOB_COLUMNS} from penstock.list_jobs(%s::text::jsonb, %s, %s)",
        [to_json(filter), before, limit],
        _read_jobs,
        repeatable=True,
    )


def watch(id: UUID) -> Call[bool]:
    """Asks for notices about a job; False when it is finished or unknown."""
    return Call("select penstock.watch(%s)", [id], first, repeatable=True)


def cancel(ids: Sequence[UUID], reason: str = "cancelled") -> Call[list[UUID]]:
    return Call("select penstock.cancel(%s::uuid[], %s)", [list(ids), reason], first, repeatable=True)


def retry(ids: Sequence[UUID], queue: str | None = None) -> Call[list[UUID]]:
    return Call("select penstock.retry(%s::uuid[], %s)", [list(ids), queue], first)


def retry_where(filter: Mapping[str, Any], queue: str | None = None) -> Call[list[UUID]]:
    return Call("select penstock.retry_where(%s::text::jsonb, %s)", [to_json(filter), queue], first)


def purge_where(filter: Mapping[str, Any]) -> Call[int]:
    return Call("select penstock.purge_where(%s::text::jsonb)", [to_json(filter)], first, repeatable=True)
