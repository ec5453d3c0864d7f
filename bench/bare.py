"""The ceiling: the same rows claimed and completed by the least SQL that could do it, with nothing else about it.

No fencing by claim, no limits, no flows, no partitions, no metering, and only the two indexes a claim needs.
"""

import json
from datetime import UTC, datetime
from typing import Any

import psycopg
from uuid_utils.compat import uuid7

TABLES = """
drop table if exists bare_jobs, bare_history;
create table bare_jobs (like penstock.jobs including defaults, primary key (id));
create index bare_jobs_ready on bare_jobs (queue, priority desc, turn, id) where state = 'ready';
create table bare_history (like penstock.history including defaults, primary key (id));
"""

CLAIM = """
update bare_jobs
   set state = 'running', lease = %s, attempt = attempt + 1, claims = claims + 1, started_at = now()
 where id = any(array(
         select id from bare_jobs
          where state = 'ready' and queue = %s
          order by priority desc, turn, id
          limit %s
            for update skip locked))
returning id, kind, priority, turn, attempt, max_attempts, claims, snoozes, owner, org, parent, created_at,
          args::text, options::text
"""

COMPLETE = """
with done as (
  delete from bare_jobs where id = any(%s::uuid[]) returning *
)
insert into bare_history (
  id, created_at, run_at, started_at, finished_at, turn, lease, state, priority, attempt, max_attempts, claims,
  snoozes, max_snoozes, weight, awaited, queue, kind, parent, owner, org, unique_key, limit_key, phase, args,
  progress, rollup, error_count, options)
select id, created_at, run_at, started_at, now(), turn, lease, 'succeeded', priority, attempt, max_attempts, claims,
       snoozes, max_snoozes, weight, awaited, queue, kind, parent, owner, org, unique_key, limit_key, phase, args,
       progress, rollup, error_count, options
  from done
"""

INSERT = """
insert into bare_jobs (id, created_at, run_at, state, kind, queue, args)
values (%s, now(), now(), 'ready', %s, %s, %s)
"""

COPY = "copy bare_jobs (id, created_at, run_at, state, kind, queue, args) from stdin"


async def fill(connection: psycopg.AsyncConnection[Any], arguments: list[dict[str, Any]]) -> None:
    now = datetime.now(UTC).isoformat()
    async with connection.cursor() as cursor, cursor.copy(COPY) as copy:
        for each in arguments:
            await copy.write_row((str(uuid7()), now, now, "ready", "noop", "default", json.dumps(each)))


async def drain(connection: psycopg.AsyncConnection[Any], batch: int) -> int:
    """Claims and completes until nothing is left; how many jobs that were."""
    done = 0
    while True:
        cursor = await connection.execute(CLAIM, (1, "default", batch), binary=True)
        rows = await cursor.fetchall()
        if not rows:
            return done
        await connection.execute(COMPLETE, ("{" + ",".join([row[0].hex for row in rows]) + "}",))
        done += len(rows)
