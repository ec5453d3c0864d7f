"""The columns of a job, declared once. COPY, the single enqueue, the fields that these know and what tests cross with
the catalogue follow from here; the SQL that moves a job to history and back names them, and a test holds it to that."""

from typing import Literal, NamedTuple

Type = Literal["bigint", "boolean", "int", "jsonb", "real", "state", "text", "timestamptz", "uuid"]


class Column(NamedTuple):
    name: str
    type: Type
    by: Literal["caller", "engine"]
    """Who sets it. A caller's has a field of the same name in NewJob."""
    short: bool = False
    """Known to the short ways of enqueueing, COPY and enqueue_plain(): nothing about it needs a look at other rows."""
    kept: bool = True
    """Moves to history with a finished job, and back when it is retried."""


COLUMNS = (
    Column("id", "uuid", "caller", short=True),
    Column("kind", "text", "caller", short=True),
    Column("queue", "text", "caller", short=True),
    Column("args", "jsonb", "caller", short=True),
    Column("run_at", "timestamptz", "caller", short=True),
    Column("priority", "int", "caller", short=True),
    Column("max_attempts", "int", "caller", short=True),
    Column("max_snoozes", "int", "caller", short=True),
    Column("owner", "text", "caller", short=True),
    Column("org", "text", "caller", short=True),
    Column("limit_key", "text", "caller", short=True),
    Column("options", "jsonb", "caller", short=True),
    Column("unique_key", "text", "caller"),
    Column("quota", "text", "caller"),
    Column("parent", "uuid", "caller"),
    Column("weight", "real", "caller"),
    Column("phase", "text", "caller"),
    Column("rollup", "jsonb", "caller"),
    Column("created_at", "timestamptz", "engine"),
    Column("started_at", "timestamptz", "engine"),
    Column("turn", "bigint", "engine"),
    Column("lease", "bigint", "engine"),
    Column("state", "state", "engine"),
    Column("attempt", "int", "engine"),
    Column("claims", "int", "engine"),
    Column("snoozes", "int", "engine"),
    Column("error_count", "int", "engine"),
    Column("awaited", "boolean", "engine"),
    Column("progress", "jsonb", "engine"),
    Column("waiting_on", "int", "engine", kept=False),
    Column("watched", "boolean", "engine", kept=False),
    Column("counted", "boolean", "engine", kept=False),
    Column("cancel_requested", "boolean", "engine", kept=False),
    Column("parked_since", "timestamptz", "engine", kept=False),
    Column("parked_reason", "text", "engine", kept=False),
)

SHORT = tuple(column for column in COLUMNS if column.short)
