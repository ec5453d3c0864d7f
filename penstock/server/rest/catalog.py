"""What can be reached over /rest/v1, and nothing else: functions of the adapters `pgmq` and `supabase`, and views of
the latter. Every name and type that becomes SQL is one of these; what callers send becomes a parameter.

`tests/server/rest/test_catalog.py` compares it with the database's own catalogue.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

Shape = Literal["rows", "values", "value"]
"""What a function returns: rows of columns, a list of values, or one value."""

MAX_ROWS = 1000
MAX_BYTES = 16_777_216
"""That one answer has."""


@dataclass(frozen=True, slots=True)
class Function:
    """Arguments by name, with their types; those in `required` have no default."""

    adapter: str
    arguments: Mapping[str, str]
    required: frozenset[str]
    shape: Shape
    most: Mapping[str, int] = field(default_factory=dict)
    """The highest number that an argument may be."""


@dataclass(frozen=True, slots=True)
class View:
    """Columns by name, with their types; `insertable` are those that an insert may name."""

    adapter: str
    columns: Mapping[str, str]
    insertable: frozenset[str]


def _function(adapter: str, shape: Shape, required: str, optional: str = "", **most: int) -> Function:
    """Arguments as "name type, name type"."""
    given = _typed(required)
    return Function(adapter, given | _typed(optional), frozenset(given), shape, most)


def _view(columns: str, insertable: str) -> View:
    return View("supabase", _typed(columns), frozenset(insertable.split()))


def _typed(text: str) -> dict[str, str]:
    return dict(_pair(each) for each in text.split(", ") if each)


def _pair(text: str) -> tuple[str, str]:
    name, _, type = text.partition(" ")
    return name, type


_TASK = "p_task_id uuid, p_worker_id text"

FUNCTIONS: Mapping[str, Mapping[str, Function]] = {
    "public": {
        "claim_tasks": _function(
            "supabase", "rows", "p_worker_id text", "p_max_tasks integer, p_task_types text[], p_queues text[]"
        ),
        "heartbeat_task": _function("supabase", "value", _TASK),
        "complete_task": _function("supabase", "value", _TASK, "p_output jsonb"),
        "fail_task": _function("supabase", "value", _TASK, "p_error text"),
        "reclaim_stale_tasks": _function("supabase", "value", ""),
    },
    "pgmq_public": {
        "send": _function("pgmq", "values", "queue_name text, message jsonb", "sleep_seconds integer"),
        "send_batch": _function("pgmq", "values", "queue_name text, messages jsonb[]", "sleep_seconds integer"),
        "read": _function("pgmq", "rows", "queue_name text", "sleep_seconds integer, n integer", n=MAX_ROWS),
        "pop": _function("pgmq", "rows", "queue_name text"),
        "archive": _function("pgmq", "value", "queue_name text, message_id bigint"),
        "delete": _function("pgmq", "value", "queue_name text, message_id bigint"),
    },
}
"""By schema and name. The first schema is the one that is meant when a request names none."""

VIEWS: Mapping[str, Mapping[str, View]] = {
    "public": {
        "jobs": _view(
            "id uuid, user_id text, type text, params jsonb, status text, progress jsonb, output jsonb, error text, "
            "created_at timestamptz, started_at timestamptz, completed_at timestamptz",
            insertable="user_id type params status",
        ),
        "job_tasks": _view(
            "id uuid, job_id uuid, user_id text, task_type text, sequence integer, status text, input jsonb, "
            "output jsonb, worker_id text, attempts integer, max_attempts integer, error text, "
            "created_at timestamptz, claimed_at timestamptz, completed_at timestamptz",
            insertable="job_id task_type sequence status input max_attempts",
        ),
        "job_artifacts": _view(
            "id uuid, job_id uuid, task_id uuid, user_id text, artifact_type text, storage_path text, public_url text, "
            "content_type text, file_size_bytes bigint, duration_seconds double precision, created_at timestamptz",
            insertable="job_id task_id artifact_type storage_path public_url content_type file_size_bytes "
            "duration_seconds",
        ),
    },
    "pgmq_public": {},
}
SCHEMAS = tuple(FUNCTIONS)
