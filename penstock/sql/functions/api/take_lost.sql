-- Jobs that were given up without anybody to report it, first come first: their worker was lost with the last attempt, or they are
-- flows that failed of their jobs. Each is told once, to whoever takes it; one that was retried or purged meanwhile is not. `job` is
-- as a claim gives it, and of a flow says why under "flow_failed".
create or replace function penstock.take_lost(p_limit int default 100)
returns table (job jsonb, queue text)
language plpgsql
set plan_cache_mode = force_generic_plan
set enable_seqscan = off
set enable_bitmapscan = off
set jit = off
as $$
#variable_conflict use_column
begin
  return query
    with taken as (
      delete from penstock.lost_jobs
       where number = any(array(
               select number from penstock.lost_jobs order by number limit p_limit for update skip locked))
      returning number, job
    )
    select jsonb_build_object(
             'id', h.id, 'kind', h.kind, 'priority', h.priority, 'turn', h.turn, 'attempt', h.attempt,
             'max_attempts', h.max_attempts, 'claims', h.claims, 'snoozes', h.snoozes, 'owner', h.owner, 'org', h.org,
             'parent', h.parent, 'created_at', h.created_at,
             'args', coalesce(h.args::text, penstock.payload_text(h.id)), 'options', h.options::text,
             'flow_failed', case when h.error->>'type' = 'FlowFailed' then h.error->>'error' end),
           h.queue
      from taken
     cross join lateral (
       select *, penstock.errors_of(id)->-1 as error from penstock.history where id = taken.job and state = 'failed') as h
     order by taken.number;
end
$$;
