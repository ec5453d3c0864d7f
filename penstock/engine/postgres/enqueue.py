"""Enqueueing as a script: COPY where nothing about the jobs needs a look at other rows, the SQL function otherwise."""

from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from operator import attrgetter
from uuid import UUID

import msgspec

from penstock.engine import commands
from penstock.engine.commands import BeforeCopy, Complete, CompleteAndEnqueue, Reported, ReportProgress
from penstock.engine.postgres.copy import INLINE, copy_jobs, copy_payloads
from penstock.engine.postgres.statement import Script
from penstock.errors import DuplicateKey
from penstock.job import PLAIN, AllCreated, Bulk, Enqueued, NewJob, Work, ids_of

COPY_FROM = 20
"""From so many jobs on COPY is faster than JSON, its extra round trips counted."""

_JSON_AT_ONCE = 64 * 1024 * 1024
"""Bytes of JSON for one statement, of which Postgres takes 256 MB. Not less than it needs to be: where a caller's
connection commits every statement, one statement is what makes a call all or none."""


def plain_one(work: Work, *, hand: bool) -> commands.EnqueuePlain | None:
    """Of a single job about which nothing needs a look at other rows, the only command: no script, which costs as much
    as the rest of our Python. `hand` where the transaction ends with it."""
    if isinstance(work, Bulk) and len(work.args) == 1 and work.template.plain:
        return commands.EnqueuePlain(work.template, work.ids[0].hex(), work.args[0], hand=hand)
    return None


def enqueue(work: Work, *, copy: bool = True) -> Script[Sequence[Enqueued]]:
    """Enqueues all of them or none. `copy=False` where the caller's driver cannot COPY."""
    if isinstance(work, Bulk):
        # 2 µs of Python a job instead of 9
        if copy and len(work.args) >= COPY_FROM and work.template.plain:
            yield from _copy(work.template, work.ids, work.args)
            return AllCreated(work.ids)
        work = work.jobs()
    jobs = work
    _refuse_duplicates(jobs)
    if copy and len(jobs) >= COPY_FROM and all(job.plain for job in jobs):
        few: set[UUID] = set()
        for template, group in _group(jobs):
            if len(group) >= COPY_FROM:
                yield from _copy(template, ids_of(group), [job.args for job in group])
            else:
                few.update(job.id for job in group)
        if few:
            # a COPY of each would be four statements for every owner: a thousand jobs of a thousand owners took four
            # times as long
            yield from _hand_over([job for job in jobs if job.id in few])
        return AllCreated(ids_of(jobs))
    return (yield from _hand_over(jobs))


def _hand_over(jobs: Sequence[NewJob]) -> Script[list[Enqueued]]:
    """As JSON, to the SQL function."""
    enqueued: list[Enqueued] = []
    # a flow's jobs name each other: they go together
    largest = max((len(job.args) for job in jobs), default=0)
    at_once = len(jobs) if any(job.rollup for job in jobs) else max(1, _JSON_AT_ONCE // (largest + 1024))
    for start in range(0, len(jobs), at_once):
        enqueued += yield commands.EnqueueJobs(jobs[start : start + at_once])
    return enqueued


def _copy(template: NewJob, ids: Sequence[bytes], args: Sequence[bytes]) -> Script[None]:
    # the database's clock, not ours: workers compare run_at with that one. One turn for all, in which they go by id
    before: BeforeCopy = yield commands.PrepareCopy(template.queue, template.kind, template.owner)
    large = max(map(len, args)) > INLINE
    if not before.may_copy or (large and any(b"\\u" in each for each in args)):
        # Of a login that does not own the table, such as a member of service_role, Postgres takes no COPY. And jsonb
        # refuses some escapes (\u0000), but large arguments become jsonb only when somebody looks at them.
        yield from _hand_over(Bulk(template, args, ids).jobs())
        return
    turn, step = before.turn, 0
    if before.fair_by:
        turn, step = (yield commands.TakeTurns(template.queue, getattr(template, before.fair_by), len(ids))), 1
    yield copy_jobs(template, ids, args, now=before.now, turn=turn, step=step)
    if large:
        yield copy_payloads(template, ids, args)
    yield commands.Wake(template.queue, len(ids))


def _group(jobs: Sequence[NewJob]) -> Iterator[tuple[NewJob, list[NewJob]]]:
    """Jobs that differ in id and arguments only, together with one of them as their template."""
    groups: dict[object, list[NewJob]] = defaultdict(list)
    for job in jobs:
        options = msgspec.json.encode(job.options) if job.options else None
        groups[(*_shared(job), options)].append(job)
    for group in groups.values():
        yield group[0], group


_shared = attrgetter(*(name for name in PLAIN if name not in ("id", "args", "options")))


def _refuse_duplicates(jobs: Sequence[NewJob]) -> None:
    for name in ("unique_key", "idempotency_key"):
        keys = Counter(
            (*((job.kind, job.org) if name == "unique_key" else ()), job.owner, key)
            for job in jobs
            if (key := getattr(job, name)) is not None
        )
        for (*_, key), times in keys.items():
            if times > 1:
                raise DuplicateKey(name, f"{key!r} is carried by {times} jobs of one call")


def complete_and_enqueue(command: CompleteAndEnqueue) -> Script[bool]:
    """Enqueues further jobs and completes this one, its last report written before; False when it is no longer the
    lease's, and nothing may commit."""
    job = command.job
    if command.enqueue:
        yield from enqueue(command.enqueue)
    if command.progress is not None:
        yield ReportProgress(command.lease, [Reported(job.id, job.claims, command.progress)])
    refused = yield Complete(command.lease, [job])
    return not refused
