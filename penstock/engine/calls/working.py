"""What a worker does."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from penstock.engine.call import Call, Row, first, nothing
from penstock.engine.calls.text import first_column, from_json, to_json
from penstock.engine.cursor import Cursor
from penstock.engine.postgres.arrays import InHand, array_of_claims, array_of_ids
from penstock.job import ClaimedJob, JobState, Lease


def open_lease(
    worker: str,
    *,
    seconds: float | None = None,
    queues: Sequence[str] = (),
    host: str | None = None,
    pid: int | None = None,
    kinds: Sequence[str] | None = None,
) -> Call[Lease]:
    """`kinds` is what the worker has handlers of: jobs that were parked for want of such a one are ready at once."""
    return Call(
        "select penstock.open_lease(%s, pg_catalog.make_interval(secs => %s), %s::text[], %s, %s, %s::text[])",
        [worker, seconds, list(queues), host, pid, None if kinds is None else list(kinds)],
        lambda rows: Lease(rows[0][0]),
        repeatable=True,
        name="open_lease",
        given=(worker, seconds, queues, host, pid, kinds),
    )


@dataclass(frozen=True, slots=True)
class Extended:
    """Whether the lease is still ours, which of its jobs somebody wants stopped, whether it leads, its length."""

    alive: bool
    cancelling: list[UUID]
    leads: bool
    seconds: float | None


def extend_lease(lease: Lease) -> Call[Extended]:
    return Call(
        "select alive, cancelling, leads, seconds from penstock.extend_lease(%s)",
        [lease],
        lambda rows: Extended(*rows[0]),
        repeatable=True,
        name="extend_lease",
        given=(lease,),
    )


def heartbeat(lease: Lease) -> Call[Extended]:
    """Extends the lease of a worker that never leads."""
    return Call(
        "select alive, cancelling, false, seconds from penstock.heartbeat(%s)",
        [lease],
        lambda rows: Extended(*rows[0]),
        repeatable=True,
    )


def expire_lease(lease: Lease) -> Call[int]:
    """Takes back the jobs of a worker that is known to be dead, their attempt counted; how many."""
    return Call(
        "select penstock.expire_lease(%s)", [lease], first, repeatable=True, name="expire_lease", given=(lease,)
    )


def close_lease(lease: Lease) -> Call[int]:
    """Gives back what the lease still holds; how many jobs that were."""
    return Call("select penstock.close_lease(%s)", [lease], first, repeatable=True, name="close_lease", given=(lease,))


def _place(job: ClaimedJob) -> tuple[int, int, UUID]:
    return -job.priority, job.turn, job.id


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
    """Up to `limit` jobs, best first. A cursor keeps the cost flat; `full` looks everywhere all the same.

    Its commit does not wait for the disk: a claim that a crash of Postgres undoes is as good as one whose worker died.
    """
    marks = cursor.marks(full=full) if cursor else ([], [], [])

    def read(rows: Sequence[Row]) -> list[ClaimedJob]:
        jobs = [ClaimedJob(*row) for row in rows]
        # they come by id, which is the order already unless priorities or turns are mixed
        if len({(job.priority, job.turn) for job in jobs}) > 1:
            jobs.sort(key=_place)
        if cursor:
            cursor.advance(jobs, limit)
        return jobs

    return Call(
        "select c.* from (select set_config('synchronous_commit', 'off', true) offset 0) as s,"
        " penstock.claim(%s, %s, %s, %s::int[], %s::bigint[], %s::uuid[], %s::text[], %s) as c",
        [lease, queue, limit, *marks, list(kinds) if kinds is not None else None, owner],
        read,
        binary=True,
        name="claim",
        given=(lease, queue, limit, kinds),
    )


def complete(lease: Lease, jobs: Sequence[InHand], outputs: Sequence[bytes | None] = ()) -> Call[list[UUID]]:
    """Finishes jobs with their outputs (JSON); returns the ids refused because they are no longer the lease's."""
    results = b"[" + b",".join(output or b"null" for output in outputs) + b"]" if any(outputs) else None
    return Call(
        "select penstock.complete(%s, %s::uuid[], %s::int[], %s::text::jsonb)",
        [lease, array_of_ids(jobs), array_of_claims(jobs), results and results.decode()],
        first,
        name="complete",
        given=(lease, jobs, outputs),
    )


def fail(
    lease: Lease, jobs: Sequence[InHand], errors: Sequence[Mapping[str, Any]]
) -> Call[dict[UUID, tuple[JobState, datetime | None]]]:
    """Reports failed attempts; what became of each accepted one. An error is {"error": …} and may have type, traceback,
    retry_in (seconds) and final."""
    return Call(
        "select id, state::text, run_at from penstock.fail(%s, %s::uuid[], %s::int[], %s::text::jsonb)",
        [lease, array_of_ids(jobs), array_of_claims(jobs), to_json(errors)],
        _read_fates,
        name="fail",
        given=(lease, jobs, errors),
    )


def snooze(
    lease: Lease, jobs: Sequence[InHand], seconds: Sequence[float]
) -> Call[dict[UUID, tuple[JobState, datetime | None]]]:
    return Call(
        "select id, state::text, run_at from penstock.snooze(%s, %s::uuid[], %s::int[], %s::float8[])",
        [lease, array_of_ids(jobs), array_of_claims(jobs), [float(each) for each in seconds]],
        _read_fates,
        name="snooze",
        given=(lease, jobs, seconds),
    )


def park(
    lease: Lease, jobs: Sequence[InHand], reasons: Sequence[str]
) -> Call[dict[UUID, tuple[JobState, datetime | None]]]:
    """Puts jobs aside that the worker has no handler for, or none that takes their arguments, at no cost of an attempt;
    what became of each accepted one."""
    return Call(
        "select id, state::text, run_at from penstock.park(%s, %s::uuid[], %s::int[], %s::text[])",
        [lease, array_of_ids(jobs), array_of_claims(jobs), list(reasons)],
        _read_fates,
        name="park",
        given=(lease, jobs, reasons),
    )


def _read_fates(rows: Sequence[Row]) -> dict[UUID, tuple[JobState, datetime | None]]:
    return {id: (JobState(state), run_at) for id, state, run_at in rows}


def release(lease: Lease, jobs: Sequence[InHand]) -> Call[list[UUID]]:
    """Gives jobs back unfinished, at no cost of an attempt; the ids that were the lease's."""
    return Call(
        "select penstock.release(%s, %s::uuid[], %s::int[])",
        [lease, array_of_ids(jobs), array_of_claims(jobs)],
        first_column,
        name="release",
        given=(lease, jobs),
    )


def release_unknown(lease: Lease, known: Sequence[UUID], seconds: float = 0) -> Call[list[UUID]]:
    """Gives back what the lease holds besides these, for so many seconds: an answer or a notice was lost."""
    return Call(
        "select penstock.release_unknown(%s, %s::uuid[], %s)",
        [lease, list(known), seconds],
        first_column,
        repeatable=True,
        name="release_unknown",
        given=(lease, known, seconds),
    )


def stop_cancelled(lease: Lease, jobs: Sequence[InHand], reason: str = "cancelled") -> Call[list[UUID]]:
    return Call(
        "select penstock.stop_cancelled(%s, %s::uuid[], %s::int[], %s)",
        [lease, array_of_ids(jobs), array_of_claims(jobs), reason],
        first_column,
        name="stop_cancelled",
        given=(lease, jobs, reason),
    )


def report_progress(
    lease: Lease, jobs: Sequence[InHand], reports: Sequence[Mapping[str, Any]]
) -> Call[dict[UUID, bool]]:
    """Writes progress; for each accepted job, whether somebody wants it stopped."""
    return Call(
        "select id, cancel_requested from penstock.report_progress(%s, %s::uuid[], %s::int[], %s::text::jsonb)",
        [lease, array_of_ids(jobs), array_of_claims(jobs), to_json(reports)],
        lambda rows: dict(rows),
        repeatable=True,
        name="report_progress",
        given=(lease, jobs, reports),
    )


def remember_step(lease: Lease, job: InHand, name: str, output: bytes) -> Call[bool]:
    return Call(
        "select penstock.remember_step(%s, %s, %s, %s, %s::text::jsonb)",
        [lease, job.id, job.claims, name, output.decode()],
        first,
        repeatable=True,
        name="remember_step",
        given=(lease, job, name, output),
    )


Held = tuple[Lease, int]
"""By which lease and which claim a job is held: the API shows what belongs to a job only to its holder."""


def recall_steps(job: UUID, held: Held | None = None) -> Call[dict[str, Any]]:
    return Call(
        "select name, output::text from penstock.recall_steps(%s)",
        [job],
        lambda rows: {name: from_json(output) for name, output in rows},
        repeatable=True,
        name="recall_steps",
        given=(job, held),
    )


def outputs(job: UUID, held: Held | None = None) -> Call[list[dict[str, Any]]]:
    """What a job waited for, in the order it was enqueued: id, name, kind, phase, state, args, output."""
    return Call(
        "select id, name, kind, phase, state::text, args::text, output::text from penstock.outputs(%s)",
        [job],
        lambda rows: [
            {"id": id, "name": name, "kind": kind, "phase": phase, "state": JobState(state), "args": from_json(args),
             "output": from_json(output)}
            for id, name, kind, phase, state, args, output in rows
        ],
        repeatable=True,
        name="outputs",
        given=(job, held),
    )  # fmt: skip


def holds(lease: Lease, job: UUID, claims: int) -> Call[bool]:
    """Whether the lease holds the job by this very claim."""
    return Call("select penstock.holds(%s, %s, %s)", [lease, job, claims], first, repeatable=True)


def wait_for_work(
    lease: Lease, queues: Sequence[str], *, direct: bool = False, backend: int | None = None
) -> Call[float | None]:
    """To be run on the connection that listens, or with that one's `backend`; `direct` when it also takes the jobs it
    is handed. In how many seconds to look again all the same, if a rate holds."""
    return Call(
        "select penstock.wait_for_work(%s, %s::text[], coalesce(%s, pg_backend_pid()), %s)",
        [lease, list(queues), backend, direct],
        first,
        name="wait_for_work",
        given=(lease, queues),
    )


def lose_sight(lease: Lease, backend: int) -> Call[int]:
    """Whoever listens for this worker has not heard of it: what it was told of goes to others. How many queues."""
    return Call("select penstock.lose_sight(%s, %s)", [lease, backend], first, repeatable=True)


def stop_waiting(lease: Lease, queues: Sequence[str] | None = None) -> Call[None]:
    """For these queues, or for all."""
    return Call(
        "select penstock.stop_waiting(%s, %s::text[])",
        [lease, None if queues is None else list(queues)],
        nothing,
        repeatable=True,
        name="stop_waiting",
        given=(lease, queues),
    )
