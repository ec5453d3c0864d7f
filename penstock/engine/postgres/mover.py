"""Moving jobs out of Postgres and in. What is held is in a queue of another name, which no worker serves."""

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any
from uuid import UUID

from penstock.engine.commands import ExistingIds, MoveJobs
from penstock.engine.mover import MovedJob
from penstock.engine.postgres.statement import Statement, all_rows, first
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
 order by id
 limit %s
"""
_HELD = """
select id, kind, priority, case when state = 'scheduled' then run_at end, attempt, max_attempts, max_snoozes, owner,
       org, unique_key, limit_key, quota, options, created_at, coalesce(args, penstock.payload_of(id))::text
  from penstock.jobs
 where queue = %s
 order by priority desc, id
 limit %s
"""
_LET_GO = """
with gone as (
  delete from penstock.jobs
   where id = any(%s) and queue = %s
  returning id
)
select penstock.forget(pg_catalog.array_agg(id)) from gone having count(*) > 0
"""


class PostgresMover:
    def __init__(self, engine: "PostgresEngine") -> None:
        self._engine = engine

    def waiting(self, queue: str) -> int:
        text = "select count(*) from penstock.jobs where queue in (%s, %s)"
        count: int = self._engine.run(Statement(text, [queue, _aside(queue)], first))
        return count

    def hold(self, queue: str, limit: int) -> Sequence[MovedJob]:
        held = self._held(queue, limit)
        if not held:
            rows = self._engine.run(Statement(_WAITING, [queue, limit], all_rows))
            self._engine.run(MoveJobs([row[0] for row in rows], _aside(queue)))
            held = self._held(queue, limit)
        return held

    def _held(self, queue: str, limit: int) -> list[MovedJob]:
        return [_moved(queue, row) for row in self._engine.run(Statement(_HELD, [_aside(queue), limit], all_rows))]

    def take_in(self, queue: str, jobs: Sequence[MovedJob]) -> None:
        del queue  # each says its own
        there = set(self._engine.run(ExistingIds([each.job.id.bytes for each in jobs])))
        # what it has had of its attempts is not to be had again
        new = [_with_attempts_left(each) for each in jobs if each.job.id not in there]
        if new:
            self._engine.enqueue(new)

    def let_go(self, queue: str, ids: Sequence[UUID]) -> None:
        self._engine.run(Statement(_LET_GO, [list(ids), _aside(queue)], all_rows))


def _aside(queue: str) -> str:
    return f"{queue} (on its way elsewhere)"


def _moved(queue: str, row: Sequence[Any]) -> MovedJob:
    (id, kind, priority, run_at, attempt, max_attempts, max_snoozes, owner, org, unique_key, limit_key, quota, options,
     created_at, args) = row  # fmt: skip
    job = NewJob(
        id=id, kind=kind, queue=queue, priority=priority, run_at=run_at, max_attempts=max_attempts,
        max_snoozes=max_snoozes, owner=owner, org=org, unique_key=unique_key, limit_key=limit_key, quota=quota,
        options=options, args=args.encode(),
    )  # fmt: skip
    return MovedJob(job, attempt, created_at)


def _with_attempts_left(moved: MovedJob) -> NewJob:
    return replace(moved.job, max_attempts=max(1, moved.job.max_attempts - moved.attempt))
