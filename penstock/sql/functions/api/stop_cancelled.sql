-- A worker has stopped jobs: because somebody cancelled them, or because a handler chose to end as cancelled.
-- Returns the accepted ids.
create or replace function penstock.stop_cancelled(p_lease bigint, p_ids uuid[], p_claims int[], p_reason text default 'cancelled')
returns setof uuid
language plpgsql
set enable_seqscan = off
set jit = off
set enable_bitmapscan = off
as $$
declare
  v_own uuid[];
begin
  perform penstock.lock_flows(p_ids);
  v_own := array(
    select j.id
      from penstock.jobs as j
      join unnest(p_ids, p_claims) as d (id, claims) on d.id = j.id and d.claims = j.claims
     where j.id = any(p_ids) and j.lease = p_lease
     order by j.id
       for update of j);
  perform penstock.count_usage(org, kind, count(*), sum(extract(epoch from penstock.clock() - started_at))::double precision)
     from penstock.jobs
    where id = any(v_own)
    group by org, kind;
  perform penstock.finish(v_own, 'cancelled', (
    select jsonb_object_agg(id, jsonb_build_object('at', penstock.clock(), 'attempt', attempt, 'error', p_reason))
      from penstock.jobs where id = any(v_own)));
  perform penstock.settle(v_own);
  return query select unnest(v_own);
end
$$;
