-- Who works: every live lease with where it is, when it was heard of last, and what it runs, the longest first. With p_job only
-- the one that runs it.
create or replace function penstock.workers(p_job uuid default null)
returns table (
  lease bigint, worker text, host text, pid int, queues text[], started_at timestamptz, heard_at timestamptz, running jsonb,
  memory bigint, load real, slots int
)
language plpgsql stable
set enable_seqscan = off
set enable_bitmapscan = off
set jit = off
as $$
#variable_conflict use_column
declare
  v_lease bigint := (select j.lease from penstock.jobs as j where j.id = p_job and j.state::text = 'running');
begin
  return query
    select l.id, l.worker, l.host, l.pid, l.queues, l.started_at, l.expires_at - l.length, coalesce(held.jobs, '[]'),
           v.memory, v.load, v.slots
      from penstock.leases_now as l
      left join lateral (
        select * from penstock.vitals as v where v.lease = l.id order by v.number desc limit 1) as v on true
      left join (
        select j.lease, jsonb_agg(jsonb_build_object(
                 'id', j.id, 'kind', j.kind, 'queue', j.queue, 'attempt', j.attempt, 'since', j.started_at,
                 'seconds', extract(epoch from penstock.clock() - j.started_at), 'cancel_requested', j.cancel_requested)
                 order by j.started_at, j.id) as jobs
          from penstock.running_jobs(p_lease => v_lease) as j
         group by j.lease) as held on held.lease = l.id
     where p_job is null or l.id = v_lease
     order by l.id;
end
$$;
