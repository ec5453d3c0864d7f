"""What must be true of the tables whenever a call has committed: each a query that finds offenders."""

from tests.engine.hand import Hand

_OFFENDERS = {
    "a job is live or in history, never both": """
        select id from penstock.jobs intersect select id from penstock.history""",
    "live jobs are in a live state, finished ones in a final state": """
        select id from penstock.jobs where state in ('succeeded', 'failed', 'cancelled')
        union all
        select id from penstock.history where state not in ('succeeded', 'failed', 'cancelled')""",
    "a running job has a lease and an attempt, no other job has a lease or counts towards limits": """
        select id from penstock.jobs
         where case when state = 'running' then lease is null or attempt < 1 else lease is not null or counted end""",
    "attempts stay within their budget, and so do snoozes": """
        select id from penstock.all_jobs
         where attempt not between 0 and least(max_attempts, claims) or snoozes > coalesce(max_snoozes, snoozes)""",
    "a unique key is held by one live job": """
        select min(id::text)::uuid from penstock.jobs
         where unique_key is not null group by kind, unique_key having count(*) > 1""",
    "waiting_on counts what is unfinished of the things a job waits for": """
        select id from penstock.jobs as j
         where state = 'blocked' and not cancel_requested
           and waiting_on <> (select count(*) from penstock.edges as e join penstock.jobs as w on w.id = e.waits_for
                               where e.job = j.id)
                           + (select count(*) from penstock.jobs as c where c.parent = j.id)""",
    "a blocked job has something to wait for": """
        select id from penstock.jobs as j
         where state = 'blocked'
           and not exists (select from penstock.edges as e join penstock.jobs as w on w.id = e.waits_for
                            where e.job = j.id)
           and not exists (select from penstock.jobs as c where c.parent = j.id)""",
    "a job that is waited for knows it": """
        select w.id from penstock.jobs as w
         where not awaited and exists (select from penstock.edges as e join penstock.jobs as j on j.id = e.job
                                        where e.waits_for = w.id and j.state = 'blocked')""",
    "no job waits for one that did not succeed": """
        select j.id from penstock.jobs as j
          join penstock.edges as e on e.job = j.id
          join penstock.history as h on h.id = e.waits_for
         where j.state = 'blocked' and h.state <> 'succeeded' and not j.cancel_requested""",
    "a flow counts its ended children by how they ended": """
        select f.id from penstock.jobs as f
         where f.state = 'blocked' and f.rollup is not null
           and exists (
             select from (values ('succeeded'), ('failed'), ('cancelled')) as s (state)
              where (f.rollup->>s.state)::int
                 <> (select count(*) from penstock.history as c where c.parent = f.id and c.state::text = s.state))""",
    "progress is between 0 and 100": """
        select id from penstock.all_jobs where (progress->>'percent')::numeric not between 0 and 100""",
    "a flow never has more ended children than children": """
        select id from penstock.all_jobs
         where rollup is not null
           and (rollup->>'succeeded')::int + (rollup->>'failed')::int + (rollup->>'cancelled')::int
               > (rollup->>'total')::int""",
    "large arguments are beside their job, and beside no other; all of them are its own": """
        select j.id from penstock.jobs as j
         where (j.args is null) <> exists (select from penstock.payloads as p where p.id = j.id)
        union all
        select h.id from penstock.history as h
         where (h.args is null) <> exists (select from penstock.payloads as p where p.id = h.id)
        union all
        select p.id from penstock.payloads as p
         where not exists (select from penstock.all_jobs as j where j.id = p.id)
        union all
        select id from penstock.all_jobs where args->>'id' <> id::text""",
    "a job has as many errors as it counts": """
        select j.id from penstock.all_jobs as j
         where coalesce(jsonb_array_length(j.errors), 0)
            <> (select count(*) from penstock.errors as e where e.id = j.id)
        union all
        select e.id from penstock.errors as e
         where not exists (select from penstock.all_jobs as j where j.id = e.id)""",
    "limits are kept": """
        select (array_agg(j.id))[1] from penstock.jobs as j join penstock.queues as q on q.name = j.queue
         where j.state = 'running'
         group by q.name, q.max_running
        having count(*) > q.max_running
        union all
        select (array_agg(j.id))[1] from penstock.jobs as j join penstock.queues as q on q.name = j.queue
         where j.state = 'running' and j.limit_key is not null
         group by q.name, j.limit_key, q.max_running_per_key
        having count(*) > q.max_running_per_key""",
}

_QUERY = " union all ".join(
    f"select '{promise.replace(chr(39), '')}' as promise, id from ({query}) as offenders (id)"
    for promise, query in _OFFENDERS.items()
)


def check_invariants(hand: Hand) -> None:
    offenders = hand.rows(_QUERY)
    assert offenders == [], "\n".join(f"{promise}: {hand.row(id)}" for promise, id in offenders)
