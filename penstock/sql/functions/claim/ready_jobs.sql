-- How many jobs of a queue are ready, counted no further than p_most, and the run_at of the oldest of them. Looks past
-- the queue's floor, and at those under quotas. Must use jobs_ready and jobs_ready_quota.
create or replace function penstock.ready_jobs(p_queue text, p_most int, out jobs int, out oldest timestamptz)
language plpgsql stable
set enable_seqscan = off
set enable_bitmapscan = off
set enable_sort = off
set jit = off
set plan_cache_mode = force_generic_plan
as $$
declare
  v_floor penstock.floors := penstock.floor_of(p_queue);
  v_above bigint := -2147483649;
  v_jobs int;
  v_oldest timestamptz;
begin
  jobs := 0;
  for i in 1 .. coalesce(cardinality(v_floor.priorities), 0) loop
    select count(*), min(run_at)
      into v_jobs, v_oldest
      from (select run_at from penstock.jobs
             where state = 'ready' and quota is null and queue = p_queue
               and priority > v_above and priority < v_floor.priorities[i]
             union all
            select run_at from penstock.jobs
             where state = 'ready' and quota is null and queue = p_queue
               and priority = v_floor.priorities[i] and turn < 0
             union all
            select run_at from penstock.jobs
             where state = 'ready' and quota is null and queue = p_queue
               and priority = v_floor.priorities[i] and (turn, id) >= (v_floor.turns[i], v_floor.ids[i])
             limit p_most - jobs) as few;
    jobs := jobs + v_jobs;
    oldest := least(oldest, v_oldest);
    v_above := v_floor.priorities[i];
  end loop;
  select count(*), min(run_at)
    into v_jobs, v_oldest
    from (select run_at from penstock.jobs
           where state = 'ready' and quota is null and queue = p_queue and priority > v_above
           union all
          select run_at from penstock.jobs where state = 'ready' and quota is not null and queue = p_queue
           limit p_most - jobs) as few;
  jobs := jobs + v_jobs;
  oldest := least(oldest, v_oldest);
end
$$;
