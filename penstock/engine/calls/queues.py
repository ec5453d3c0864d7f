"""Queues and usage."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from penstock.engine.call import Call, Row, all_rows, nothing
from penstock.engine.calls.text import to_json


def queue_stats() -> Call[Sequence[Row]]:
    return Call(
        """select name, paused, settings::text, blocked, scheduled, ready, running, oldest_ready_seconds
             from penstock.queue_stats()""",
        [],
        all_rows,
        repeatable=True,
    )


@dataclass(frozen=True, slots=True)
class Backlog:
    """What a queue that is not paused has at hand; `ready` is counted no further than asked for."""

    queue: str
    ready: int
    running: int
    oldest_s: float | None


def backlog(queues: Sequence[str], most: int = 10_000) -> Call[list[Backlog]]:
    return Call(
        "select queue, ready, running, oldest_ready_seconds from penstock.backlog(%s::text[], %s)",
        [list(queues), most],
        lambda rows: [Backlog(*row) for row in rows],
        repeatable=True,
        name="backlog",
        given=(queues, most),
    )


@dataclass(frozen=True, slots=True)
class Parked:
    """Jobs of a queue and kind that wait for a worker which knows them, and why the first of them does."""

    queue: str
    kind: str
    jobs: int
    since: datetime
    reason: str


def parked_jobs() -> Call[list[Parked]]:
    return Call(
        "select queue, kind, jobs, since, reason from penstock.parked_jobs()",
        [],
        lambda rows: [Parked(*row) for row in rows],
        repeatable=True,
    )


@dataclass(frozen=True, slots=True)
class QueueScale:
    """What an autoscaler asks about a queue; a paused one shows nothing to do."""

    paused: bool
    ready: int
    running: int
    oldest_s: float | None
    workers: int


def scale_of(queue: str) -> Call[QueueScale]:
    return Call(
        "select paused, ready, running, oldest_ready_seconds, workers from penstock.scale_of(%s)",
        [queue],
        lambda rows: QueueScale(*rows[0]),
        repeatable=True,
    )


def set_queue(name: str, settings: Mapping[str, Any]) -> Call[None]:
    return Call("select penstock.set_queue(%s, %s::text::jsonb)", [name, to_json(settings)], nothing, repeatable=True)


def declare_queues(queues: Mapping[str, Mapping[str, Any]]) -> Call[None]:
    """What the code says of its queues: changes them where it says something else than the last time."""
    return Call("select penstock.declare_queues(%s::text::jsonb)", [to_json(queues)], nothing, repeatable=True)


def dead_jobs() -> Call[dict[str, int]]:
    """How many jobs on record were given up, by queue. Reads history_given_up."""
    return Call(
        "select queue, count(*) from penstock.history where state = 'failed' group by queue", [], dict, repeatable=True
    )


def totals() -> Call[Sequence[Row]]:
    """Runs, seconds and failures of each kind, ever; and how many workers there are."""
    return Call(
        """select kind, sum(runs)::bigint, sum(seconds), sum(failures)::bigint, sum(bytes)::bigint
             from penstock.usage_so_far group by kind
            union all
           select null, count(*), null, null, null from penstock.leases where expires_at > penstock.clock()""",
        [],
        all_rows,
        repeatable=True,
    )


def usage(org: str | None = None) -> Call[Sequence[Row]]:
    return Call(
        """select day, org, kind, runs, seconds, failures, bytes from penstock.usage_so_far
            where %s::text is null or org = %s order by day, org, kind""",
        [org, org],
        all_rows,
        repeatable=True,
    )
