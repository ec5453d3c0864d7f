"""Moving jobs out of Postgres and in. What is held is in a queue of another name, which no worker serves."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from typing import TYPE_CHECKING, Any
from uuid import UUID

import psycopg

from penstock.columns import COLUMNS
from penstock.engine.commands import ExistingIds, MoveJobs
from penstock.engine.mover import MovedJob, Stays
from penstock.engine.postgres.statement import Statement, all_rows, first, to_json
from penstock.job import NewJob

if TYPE_CHECKING:
    from penstock.engine.postgres.engine import PostgresEngine

# not those of flows, nor what has begun and remembers steps: they would come over without what they belong to
_WAITING = """
select id
  from penstock.jobs as job
 where queue = %s and state in ('ready', 'scheduled') and parent is null and rollup is null and not awaited
   and not exists (select from penstock.edges as edge where edge.job = job.id)
   and not exists (select from penstock.steps as step where step.job = job.id)
   and not exists (select from penstock.waits as wait where wait.job = job.id)
   and id <> all(%s)
 order by id
 limit %s
"""
_STAYING = """
select case when state = 'running' then 'running'
            when parent is not null or rollup is not null or awaited
              or exists (select from penstock.edges as edge where edge.job = job.id) then 'flow'
            when exists (select from penstock.steps as step where step.job = job.id)
              or exists (select from penstock.waits as wait where wait.job = job.id) then 'begun'
            when id = any(%s) then 'refused'
            else 'new' end as why, pg_catalog.count(*)
  from penstock.jobs as job
 where queue in (%s, %s)
 group by why
"""
_NOT_MOVED = {"parent", "rollup"}
"""Of flows, whose jobs stay."""
_OTHERWISE = {
    "queue": "%s",
    "run_at": "case when state = 'scheduled' then run_at end",
    "args": "pg_catalog.convert_to(coalesce(args, penstock.payload_of(id))::text, 'utf8')",
}
_FIELDS = [column.name for column in COLUMNS if column.by == "caller" and column.name not in _NOT_MOVED]
_HELD = f"""
select attempt, snoozes, created_at, case when error_count is not null then penstock.errors_of(id) end,
       {", ".join(_OTHERWISE.get(name, name) for name in _FIELDS)}
  from penstock.jobs
 where queue = %s
 order by priority desc, id
 limit %s
"""  # noqa: S608 - of our own words
# and what says that they were moved in: they may come back
_LET_GO = """
with gone as (
  delete from penstock.jobs
   where id = any(%s) and queue = %s
  returning id, coalesce(owner, '') as owner
), unmarked as (
  delete from penstock.idempotency_keys as k
   using gone
   where k.owner = gone.owner and not k.of_user and k.key in (%s || gone.id::text, %s || gone.id::text)
)
select penstock.forget(pg_catalog.array_agg(id)) from gone having pg_catalog.count(*) > 0
"""
# job: where another has the unique key, the idempotency key stands for that one
_MOVED_IN = """
select k.job
  from rows from (pg_catalog.unnest(%s::uuid[]), pg_catalog.unnest(%s::text[])) as moved (id, owner)
  join penstock.idempotency_keys as k
    on k.owner = moved.owner and not k.of_user and k.key in (%s || moved.id::text, %s || moved.id::text)
 where k.job = moved.id
"""
_HAD = """
with had as (
  select *
    from pg_catalog.jsonb_to_recordset(%s::text::jsonb)
         as had (id uuid, attempt int, snoozes int, created_at timestamptz, errors jsonb)
), kept as (
  insert into penstock.errors (id, number, error)
  select id, number, error
    from had, pg_catalog.jsonb_array_elements(had.errors) with ordinality as each (error, number)
      on conflict do nothing
)
update penstock.jobs as job
   set attempt = had.attempt, snoozes = had.snoozes, created_at = had.created_at,
       error_count = nullif(pg_catalog.jsonb_array_length(had.errors), 0)
  from had
 where job.id = had.id
returning job.id
"""
_MARKS = ["moved: ", "moved without its unique key: "]
"""Idempotency keys, each with a job's id behind it. The job may have ended when an interrupted move goes on, and no
record of it be left: where its queue keeps failures alone, or after a purge. From BullMQ none brings a key of its own.
"""

_REMEMBERED = 8 * 24 * 3600.0
"""Seconds: longer than BullMQ holds what is on its way."""


class PostgresMover:
    refusals: tuple[type[Exception], ...] = (
        psycopg.DataError, psycopg.IntegrityError, psycopg.errors.ProgramLimitExceeded, ValueError, TypeError,
    )  # fmt: skip

    def __init__(self, engine: "PostgresEngine") -> None:
        self._engine = engine
        self._refused: list[UUID] = []

    def waiting(self, queue: str) -> int:
        text = "select pg_catalog.count(*) from penstock.jobs where queue in (%s, %s)"
        count: int = self._engine.run(Statement(text, [queue, _aside(queue)], first))
        return count

    def staying(self, queue: str) -> Mapping[Stays, int]:
        rows = self._engine.run(Statement(_STAYING, [self._refused, queue, _aside(queue)], all_rows))
        counts: dict[str, int] = dict(rows)
        return {why: counts[why] for why in Stays if why in counts}

    def hold(self, queue: str, limit: int) -> Sequence[MovedJob]:
        held = self._held(queue, limit)
        if not held:
            rows = self._engine.run(Statement(_WAITING, [queue, self._refused, limit], all_rows))
            self._engine.run(MoveJobs([row[0] for row in rows], _aside(queue)))
            held = self._held(queue, limit)
        return held

    def _held(self, queue: str, limit: int) -> list[MovedJob]:
        rows = self._engine.run(Statement(_HELD, [queue, _aside(queue), limit], all_rows))
        return [_moved(*row) for row in rows]

    def take_in(self, queue: str, jobs: Sequence[MovedJob]) -> None:
        del queue  # each says its own
        there = {*self._engine.run(ExistingIds([each.job.id.bytes for each in jobs])), *self._moved_in(jobs)}
        coming = [each for each in jobs if each.job.id not in there]
        if coming:
            # in one: a worker that had it in between would begin with the first attempt
            with self._engine.transaction() as transaction:
                self._add([_marked(each.job, _MARKS[0]) for each in coming], transaction.connection)
                self._note_what_they_had(coming, transaction.connection)
                transaction.commit()

    def _add(self, new: list[NewJob], connection: object) -> None:
        # whose unique key is another's comes without, for both were enqueued
        keys: set[object] = set()
        for number, job in enumerate(new):
            key = job.kind, job.owner, job.org, job.unique_key
            if job.unique_key is not None and key in keys:
                new[number] = _unkeyed(job)
            keys.add(key)
        enqueued = self._engine.enqueue(new, connection)
        unkeyed = [_unkeyed(job) for job, each in zip(new, enqueued, strict=True) if each.id != job.id]
        if unkeyed:
            self._engine.enqueue(unkeyed, connection)

    def _note_what_they_had(self, moved: Sequence[MovedJob], connection: object) -> None:
        """What it has had of its attempts and snoozes is not to be had again, and its errors are on record."""
        had = to_json([_what_it_had(each) for each in moved])
        self._engine.run_on(connection, Statement(_HAD, [had], all_rows))

    def _moved_in(self, jobs: Sequence[MovedJob]) -> list[UUID]:
        """Of these the ones that have been added, also where they have ended and nothing else is left of them."""
        ids, owners = [each.job.id for each in jobs], [each.job.owner or "" for each in jobs]
        rows = self._engine.run(Statement(_MOVED_IN, [ids, owners, *_MARKS], all_rows))
        return [row[0] for row in rows]

    def let_go(self, queue: str, ids: Sequence[UUID]) -> None:
        self._engine.run(Statement(_LET_GO, [list(ids), _aside(queue), *_MARKS], all_rows))

    def give_back(self, queue: str, ids: Sequence[UUID]) -> None:
        self._refused += ids
        self._engine.run(MoveJobs(ids, queue))


def _aside(queue: str) -> str:
    return f"{queue} (on its way elsewhere)"


def _moved(
    attempt: int, snoozes: int, created_at: datetime, errors: list[dict[str, Any]] | None, *fields: Any
) -> MovedJob:
    return MovedJob(NewJob(**dict(zip(_FIELDS, fields, strict=True))), attempt, snoozes, created_at, errors or ())


def _what_it_had(moved: MovedJob) -> dict[str, Any]:
    return {
        "id": moved.job.id, "attempt": moved.attempt, "snoozes": moved.snoozes, "created_at": moved.created_at,
        "errors": moved.errors,
    }  # fmt: skip


def _unkeyed(job: NewJob) -> NewJob:
    return _marked(replace(job, unique_key=None), _MARKS[1])


def _marked(job: NewJob, mark: str) -> NewJob:
    return replace(job, idempotency_key=f"{mark}{job.id}", idempotency_ttl=_REMEMBERED, fingerprint=str(job.id))
