"""Every call of the engine, defined once. Each returns a value that a sync or an async connection can run."""

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from operator import attrgetter
from typing import Any
from uuid import UUID

import msgspec

from penstock.engine.call import Call, Row, all_rows, first, nothing
from penstock.engine.cursor import Cursor
from penstock.job import ClaimedJob, Enqueued, Job, JobState, Lease, NewJob

_encode = msgspec.json.Encoder().encode


def _json(value: object) -> str:
    return _encode(value).decode()


def _uuid(value: str | UUID) -> UUID:
    return value if isinstance(value, UUID) else UUID(value)


def _ids(jobs: Sequence[ClaimedJob]) -> str:
    """An array as text: psycopg takes 4 µs to dump a UUID in a list, this 0.5."""
    return "{" + ",".join([job.id.hex for job in jobs]) + "}"


def _claims(jobs: Sequence[ClaimedJob]) -> str:
    return "{" + ",".join([str(job.claims) for job in jobs]) + "}"


# Enqueueing: parameters and results are text, so that any driver of the caller's can run it.


def enqueue_jobs(jobs: Sequence[NewJob]) -> Call[list[Enqueued]]:
    return Call(
        "select id::text, created from penstock.enqueue_jobs(%s::text::jsonb)",
        [_json([job.to_json() for job in jobs])],
        lambda rows: [Enqueued(_uuid(id), created) for id, created in rows],
    )


def enqueue_plain(job: NewJob, id: str, args: bytes) -> Call[None]:
    """A job like this one, with these arguments: the shortest way, for one that is `plain`."""
    return Call(
        """select penstock.enqueue_plain(%s::text::uuid, %s, %s::text::jsonb, %s, %s::text::int, %s::text::int,
             %s::text::timestamptz, %s::text::float8, %s::text::int, %s, %s, %s, %s::text::jsonb)::text""",
        [
            id, job.kind, args.decode(), job.queue, str(job.priority), str(job.max_attempts),
            job.run_at and job.run_at.isoformat(), _text(job.delay), _text(job.max_snoozes),
            job.owner, job.org, job.limit_key, job.options and _json(job.options),
        ],
        nothing,
    )  # fmt: skip


def _text(value: object) -> str | None:
    return None if value is None else str(value)


def existing_ids(ids: Sequence[str]) -> Call[set[UUID]]:
    """Of these jobs, the ones that exist, live or finished."""
    return Call(
        "select id from penstock.all_jobs where id = any(%s::uuid[])",
        [list(ids)],
        lambda rows: {row[0] for row in rows},
        repeatable=True,
    )


def fair_queues(names: Iterable[str]) -> Call[dict[str, str]]:
    """Of these queues, the fair ones and what they are fair by."""
    return Call(
        "select name, fair_by from penstock.queues where name = any(%s) and fair_by is not null",
        [list(names)],
        lambda rows: dict(rows),
        repeatable=True,
    )


def take_turns(queue: str, key: str | None, jobs: int) -> Call[int]:
    return Call("select penstock.take_turns(%s, %s, %s)", [queue, key, jobs], first)


def wake(queue: str, jobs: int) -> Call[None]:
    return Call("select penstock.wake(%s, %s)", [queue, jobs], nothing, repeatable=True)


# What a worker does.


def open_lease(
    worker: str,
    *,
    seconds: float = 30,
    queues: Sequence[str] = (),
    host: str | None = None,
    pid: int | None = None,
) -> Call[Lease]:
    return Call(
        "select penstock.open_lease(%s, make_interval(secs => %s), %s::text[], %s, %s)",
        [worker, seconds, list(queues), host, pid],
        lambda rows: Lease(rows[0][0]),
        repeatable=True,
    )


def extend_lease(lease: Lease) -> Call[tuple[bool, list[UUID]]]:
    """Whether the lease is still ours, and which of its jobs somebody wants stopped."""
    return Call(
        "select alive, cancelling from penstock.extend_lease(%s)",
        [lease],
        lambda rows: (rows[0][0], rows[0][1]),
        repeatable=True,
    )


def close_lease(lease: Lease) -> Call[int]:
    """Gives back what the lease still holds; how many jobs that were."""
    return Call("select penstock.close_lease(%s)", [lease], first, repeatable=True)


_place = attrgetter("priority", "turn", "id")


def claim(
    lease: Lease,
    queue: str,
    limit: int,
    cursor: Cursor | None = None,
    *,
    kinds: Sequence[str] | None = None,
    owner: str | None = None,
    full: bool = False,
) -> Call[list[ClaimedJob]]:
    """Up to `limit` jobs, best first. A cursor keeps the cost flat; `full` looks everywhere all the same."""
    marks = cursor.marks(full=full) if cursor else ([], [], [])

    def read(rows: Sequence[Row]) -> list[ClaimedJob]:
        jobs = [ClaimedJob(*row) for row in rows]
        # they come by id, which is the order already unless priorities or turns are mixed
        if any(job.priority != jobs[0].priority or job.turn != jobs[0].turn for job in jobs):
            jobs.sort(key=_place)
        if cursor:
            cursor.advance(jobs, limit)
        return jobs

    return Call(
        "select * from penstock.claim(%s, %s, %s, %s::int[], %s::bigint[], %s::uuid[], %s::text[], %s)",
        [lease, queue, limit, *marks, list(kinds) if kinds is not None else None, owner],
        read,
        binary=True,
    )


def complete(lease: Lease, jobs: Sequence[ClaimedJob], outputs: Sequence[bytes | None] = ()) -> Call[list[UUID]]:
    """Finishes jobs with their outputs (JSON); returns the ids refused because they are no longer the lease's."""
    results = b"[" + b",".join(output or b"null" for output in outputs) + b"]" if any(outputs) else None
    return Call(
        "select penstock.complete(%s, %s::uuid[], %s::int[], %s::text::jsonb)",
        [lease, _ids(jobs), _claims(jobs), results and results.decode()],
        first,
    )


def fail(
    lease: Lease, jobs: Sequence[ClaimedJob], errors: Sequence[Mapping[str, Any]]
) -> Call[dict[UUID, tuple[JobState, datetime | None]]]:
    """Reports failed attempts; what became of each accepted one. An error is {"error": …} and may have type, traceback,
    retry_in (seconds) and final."""
    return Call(
        "select id, state::text, run_at from penstock.fail(%s, %s::uuid[], %s::int[], %s::text::jsonb)",
        [lease, _ids(jobs), _claims(jobs), _json(errors)],
        _read_fates,
    )


def snooze(
    lease: Lease, jobs: Sequence[ClaimedJob], seconds: Sequence[float]
) -> Call[dict[UUID, tuple[JobState, datetime | None]]]:
    return Call(
        "select id, state::text, run_at from penstock.snooze(%s, %s::uuid[], %s::int[], %s::float8[])",
        [lease, _ids(jobs), _claims(jobs), [float(each) for each in seconds]],
        _read_fates,
    )


def _read_fates(rows: Sequence[Row]) -> dict[UUID, tuple[JobState, datetime | None]]:
    return {id: (JobState(state), run_at) for id, state, run_at in rows}


def release(lease: Lease, jobs: Sequence[ClaimedJob]) -> Call[list[UUID]]:
    """Gives jobs back unfinished, at no cost of an attempt; the ids that were the lease's."""
    return Call(
        "select penstock.release(%s, %s::uuid[], %s::int[])",
        [lease, _ids(jobs), _claims(jobs)],
        _first_column,
    )


def release_unknown(lease: Lease, known: Sequence[UUID]) -> Call[list[UUID]]:
    """Gives back what the lease holds besides these: the answer to a claim was lost."""
    return Call(
        "select penstock.release_unknown(%s, %s::uuid[])",
        [lease, list(known)],
        _first_column,
        repeatable=True,
    )


def stop_cancelled(lease: Lease, jobs: Sequence[ClaimedJob], reason: str = "cancelled") -> Call[list[UUID]]:
    return Call(
        "select penstock.stop_cancelled(%s, %s::uuid[], %s::int[], %s)",
        [lease, _ids(jobs), _claims(jobs), reason],
        _first_column,
    )


def report_progress(
    lease: Lease, jobs: Sequence[ClaimedJob], reports: Sequence[Mapping[str, Any]]
) -> Call[dict[UUID, bool]]:
    """Writes progress; for each accepted job, whether somebody wants it stopped."""
    return Call(
        "select id, cancel_requested from penstock.report_progress(%s, %s::uuid[], %s::int[], %s::text::jsonb)",
        [lease, _ids(jobs), _claims(jobs), _json(reports)],
        lambda rows: dict(rows),
        repeatable=True,
    )


def remember_step(lease: Lease, job: ClaimedJob, name: str, output: bytes) -> Call[bool]:
    return Call(
        "select penstock.remember_step(%s, %s, %s, %s, %s::text::jsonb)",
        [lease, job.id, job.claims, name, output.decode()],
        first,
        repeatable=True,
    )


def recall_steps(job: UUID) -> Call[dict[str, Any]]:
    return Call(
        "select name, output::text from penstock.recall_steps(%s)",
        [job],
        lambda rows: {name: _loads(output) for name, output in rows},
        repeatable=True,
    )


def outputs(job: UUID) -> Call[list[dict[str, Any]]]:
    """What a job waited for, in the order it was enqueued: id, name, kind, phase, state, args, output."""
    return Call(
        "select id, name, kind, phase, state::text, args::text, output::text from penstock.outputs(%s)",
        [job],
        lambda rows: [
            {"id": id, "name": name, "kind": kind, "phase": phase, "state": JobState(state), "args": _loads(args),
             "output": _loads(output)}
            for id, name, kind, phase, state, args, output in rows
        ],
        repeatable=True,
    )  # fmt: skip


def wait_for_work(lease: Lease, queues: Sequence[str]) -> Call[None]:
    """To be run on the connection that listens."""
    return Call("select penstock.wait_for_work(%s, %s::text[])", [lease, list(queues)], nothing)


def stop_waiting(lease: Lease) -> Call[None]:
    return Call("select penstock.stop_waiting(%s)", [lease], nothing)


# What happens by itself.


def promote(limit: int = 1000) -> Call[int]:
    return Call("select penstock.promote(%s)", [limit], first, repeatable=True)


def next_run_at() -> Call[datetime | None]:
    return Call("select penstock.next_run_at()", [], first, repeatable=True)


def reclaim() -> Call[int]:
    return Call("select penstock.reclaim()", [], first, repeatable=True)


def maintain() -> Call[dict[str, int] | None]:
    """One round of everything periodic; None when somebody else is at it."""
    return Call("select penstock.maintain()::text", [], lambda rows: _loads(rows[0][0]), repeatable=True)


# Looking at jobs and changing their course.

_JOB_COLUMNS = """id, queue, kind, state::text, priority, attempt, max_attempts, snoozes, max_snoozes, waiting_on,
  parent, owner, org, unique_key, limit_key, phase, weight, cancel_requested, args::text, progress::text, errors::text,
  options::text, output::text, created_at, run_at, started_at, finished_at"""

_STATE, _ARGS, _PROGRESS, _ERRORS, _OPTIONS, _OUTPUT = 3, 18, 19, 20, 21, 22


def _loads(text: str | None) -> Any:
    return None if text is None else msgspec.json.decode(text)


def _read_jobs(rows: Sequence[Row]) -> list[Job]:
    jobs = []
    for row in rows:
        values = list(row)
        values[_STATE] = JobState(values[_STATE])
        values[_ARGS] = _loads(values[_ARGS])
        values[_PROGRESS] = _loads(values[_PROGRESS]) or {}
        values[_ERRORS] = _loads(values[_ERRORS]) or []
        values[_OPTIONS] = _loads(values[_OPTIONS]) or {}
        values[_OUTPUT] = _loads(values[_OUTPUT])
        jobs.append(Job(*values))
    return jobs


def _first_column(rows: Sequence[Row]) -> list[UUID]:
    return [row[0] for row in rows]


def get_job(id: UUID) -> Call[Job | None]:
    return Call(
        f"select {_JOB_COLUMNS} from penstock.all_jobs where id = %s",
        [id],
        lambda rows: _read_jobs(rows)[0] if rows else None,
        repeatable=True,
    )


def list_jobs(filter: Mapping[str, Any], before: UUID | None, limit: int) -> Call[list[Job]]:
    return Call(
        f"select {_JOB_COLUMNS} from penstock.list_jobs(%s::text::jsonb, %s, %s)",
        [_json(filter), before, limit],
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
    return Call("select penstock.retry_where(%s::text::jsonb, %s)", [_json(filter), queue], first)


def purge_where(filter: Mapping[str, Any]) -> Call[int]:
    return Call("select penstock.purge_where(%s::text::jsonb)", [_json(filter)], first, repeatable=True)


# Queues and usage.


def queue_stats() -> Call[Sequence[Row]]:
    return Call(
        """select name, paused, settings::text, blocked, scheduled, ready, running, oldest_ready_seconds
             from penstock.queue_stats()""",
        [],
        all_rows,
        repeatable=True,
    )


def set_queue(name: str, settings: Mapping[str, Any]) -> Call[None]:
    return Call("select penstock.set_queue(%s, %s::text::jsonb)", [name, _json(settings)], nothing, repeatable=True)


def usage(org: str | None = None) -> Call[Sequence[Row]]:
    return Call(
        """select day, org, kind, runs, seconds, failures, bytes from penstock.usage_so_far
            where %s::text is null or org = %s order by day, org, kind""",
        [org, org],
        all_rows,
        repeatable=True,
    )
