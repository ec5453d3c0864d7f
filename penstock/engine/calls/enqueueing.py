"""Calls that enqueue. Parameters and results are text, so that any driver of the caller's can run them."""

from collections.abc import Sequence
from datetime import datetime
from uuid import UUID

from penstock.engine.call import Call, first, nothing
from penstock.engine.calls.text import to_json, to_text
from penstock.job import Enqueued, NewJob


def enqueue_jobs(jobs: Sequence[NewJob]) -> Call[list[Enqueued]]:
    return Call(
        "select id::text, created from penstock.enqueue_jobs(%s::text::jsonb)",
        [to_json([job.to_json() for job in jobs])],
        lambda rows: [Enqueued(UUID(id), created) for id, created in rows],
    )


def enqueue_plain(job: NewJob, id: str, args: bytes) -> Call[None]:
    """A job like this one, with these arguments: the shortest way, for one that is `plain`."""
    return Call(
        """select penstock.enqueue_plain(%s::text::uuid, %s, %s::text::jsonb, %s, %s::text::int, %s::text::int,
             %s::text::timestamptz, %s::text::float8, %s::text::int, %s, %s, %s, %s::text::jsonb)::text""",
        [
            id, job.kind, args.decode(), job.queue, str(job.priority), str(job.max_attempts),
            job.run_at and job.run_at.isoformat(), to_text(job.delay), to_text(job.max_snoozes),
            job.owner, job.org, job.limit_key, job.options and to_json(job.options),
        ],
        nothing,
    )  # fmt: skip


def existing_ids(ids: Sequence[str]) -> Call[set[UUID]]:
    """Of these jobs, the ones that exist, live or finished."""
    return Call(
        "select id from penstock.all_jobs where id = any(%s::uuid[])",
        [list(ids)],
        lambda rows: {row[0] for row in rows},
        repeatable=True,
    )


def clock_and_fairness(queue: str) -> Call[tuple[datetime, str | None]]:
    """The engine's time, and what the queue is fair by, if it is."""
    return Call(
        "select penstock.clock(), (select fair_by from penstock.queues where name = %s)",
        [queue],
        lambda rows: (rows[0][0], rows[0][1]),
        repeatable=True,
    )


def take_turns(queue: str, key: str | None, jobs: int) -> Call[int]:
    return Call("select penstock.take_turns(%s, %s, %s)", [queue, key, jobs], first)


def wake(queue: str, jobs: int) -> Call[None]:
    return Call("select penstock.wake(%s, %s)", [queue, jobs], nothing, repeatable=True)
