-- The running jobs of a queue, of a lease, or of all: by jobs_running, lease by lease, those that started past the floor of time;
-- by jobs_pkey the older ones that it names.
create or replace function penstock.running_jobs(p_queue text default null, p_lease bigint default null)
returns setof penstock.jobs
language plpgsql stable
set enable_seqscan = off
set enable_bitmapscan = off
set enable_hashjoin = off
set enable_mergejoin = off
set jit = off
set plan_cache_mode = force_generic_plan
as $$
declare
  v_floor penstock.time_floors := penstock.time_floor();
begin
  return query
    select j.*
      from penstock.leases as l
     cross join lateral (
       select r.* from penstock.jobs as r
        where r.state = 'running' and r.lease = l.id and r.started_at >= v_floor.started_since
       -- or the planner reads all of jobs_running, for the sake of its second column
       offset 0) as j
     where (p_lease is null or l.id = p_lease) and (p_queue is null or j.queue = p_queue)
    union all
    select * from penstock.jobs
     where id = any(v_floor.started_before) and started_at < v_floor.started_since and state::text = 'running'
       and (p_lease is null or lease = p_lease) and (p_queue is null or queue = p_queue);
end
$$;
