"""Calls that enqueue. Parameters and results are text, so that any driver of the caller's can run them."""

import dataclasses
from collections.abc import Sequence
from datetime import datetime
from uuid import UUID

from penstock.engine.call import Call, first, nothing
from penstock.engine.calls.text import to_json
from penstock.job import Enqueued, NewJob


def enqueue_jobs(jobs: Sequence[NewJob]) -> Call[list[Enqueued]]:
    return Call(
        "select id::text, created from penstock.enqueue_jobs(%s::text::jsonb)",
        [to_json([job.to_json() for job in jobs])],
        lambda rows: [Enqueued(UUID(id), created) for id, created in rows],
    )


_CASTS = {
    "priority": "::text::int",
    "max_attempts": "::text::int",
    "run_at": "::text::timestamptz",
    "delay": "::text::float8",
    "max_snoozes": "::text::int",
    "owner": "",
    "org": "",
    "limit_key": "",
}


def enqueue_plain(job: NewJob, id: str, args: bytes, *, hand: bool = False) -> Call[None]:
    """A job like this one, with these arguments: the shortest way, for one that is `plain`.

    Only what differs from the defaults is sent: each parameter costs psycopg about a microsecond. `hand` where the
    call is a transaction by itself: an idle worker may be given the job with the notice.
    """
    given = [(name, value) for name in _CASTS if (value := getattr(job, name)) != _DEFAULTS[name]]
    extras = [f", p_{name} => %s{_CASTS[name]}" for name, _ in given]
    values = [value.isoformat() if isinstance(value, datetime) else str(value) for _, value in given]
    if job.options:
        extras.append(", p_options => %s::text::jsonb")
        values.append(to_json(job.options))
    if hand:
        extras.append(", p_hand => true")
    return Call(
        "select penstock.enqueue_plain(p_id => %s::text::uuid, p_kind => %s, p_args => %s::text::jsonb, p_queue => %s"
        f"{''.join(extras)})::text",
        [id, job.kind, args.decode(), job.queue, *values],
        nothing,
    )


_DEFAULTS = {field.name: field.default for field in dataclasses.fields(NewJob)}


def existing_ids(ids: Sequence[bytes]) -> Call[set[UUID]]:
    """Of these jobs, the ones that exist, live or finished."""
    return Call(
        "select id from penstock.all_jobs where id = any(%s::uuid[])",
        [[id.hex() for id in ids]],
        lambda rows: {row[0] for row in rows},
        repeatable=True,
    )


def before_copying(queue: str, kind: str, owner: str | None) -> Call[tuple[int, datetime, str | None, bool]]:
    """The jobs' turn in line, the engine's time, what the queue is fair by, if it is, and whether COPY will do: this
    login may, and the jobs count against no quota of their owner's, which only the functions know."""
    return Call(
        """select (select penstock.next_turn() where not exists (select from penstock.jobs where false)),
                  penstock.clock(), (select fair_by from penstock.queues where name = %s),
                  not row_security_active('penstock.jobs')
                  and (%s::text is null
                       or not exists (select from penstock.kinds where kind = %s and quota is not null))""",
        [queue, owner, kind],
        lambda rows: (rows[0][0], rows[0][1], rows[0][2], rows[0][3]),
        repeatable=True,
    )


def take_turns(queue: str, key: str | None, jobs: int) -> Call[int]:
    return Call("select penstock.take_turns(%s, %s, %s)", [queue, key, jobs], first)


def wake(queue: str, jobs: int) -> Call[None]:
    return Call(
        "select penstock.wake(%s, %s)", [queue, jobs], nothing, repeatable=True, name="wake", given=(queue, jobs)
    )
