-- How many jobs of a queue are ready, counted no further than p_most, and the run_at of the oldest of them. Looks past the
-- queue's floors, and at who lags behind them; a standby, which has no floors, counts from the beginning. Must use jobs_ready and
-- jobs_ready_by_member.
create or replace function penstock.ready_jobs(p_queue text, p_most int, out jobs int, out oldest timestamptz)
language plpgsql stable
set enable_seqscan = off
set enable_bitmapscan = off
set enable_sort = off
set jit = off
set plan_cache_mode = force_generic_plan
as $$
declare
  v_floor penstock.floors;
  v_left int := p_most;
  v_jobs int;
  v_under_quota boolean := false;
  v_oldest timestamptz;
begin
  jobs := 0;
  -- most queues have nothing under quotas, and no floor of them
  if not pg_is_in_recovery() then
    v_under_quota := exists (select from penstock.floors where queue = p_queue and line = 1);
  end if;
  for v_line in 0 .. 1 loop
    if not pg_is_in_recovery() then
      select * into v_floor from penstock.floors where queue = p_queue and line = v_line order by number desc limit 1;
    end if;
    select count(*), min(run_at),
           v_under_quota or exists (select from penstock.jobs where state = 'ready' and queue = p_queue and (quota is not null)::int = 1)
      into v_jobs, v_oldest, v_under_quota
      from (select run_at
              from penstock.ready_past(p_queue, v_line, v_floor.priorities, v_floor.turns, v_floor.ids)
             limit v_left) as few;
    jobs := jobs + v_jobs;
    v_left := v_left - v_jobs;
    oldest := least(oldest, v_oldest);
    if cardinality(v_floor.lagging) > 0 then
      select count(*), min(run_at)
        into v_jobs, v_oldest
        from (select late.run_at
                from unnest(v_floor.lagging) as l
                join unnest(v_floor.priorities, v_floor.turns, v_floor.ids) as mark (priority, turn, id)
                  on mark.priority = l.priority
               cross join lateral (
                 select j.run_at
                   from penstock.jobs as j
                  where j.state = 'ready' and j.queue = p_queue and coalesce(j.quota, '') = l.quota
                    and (case when j.quota is null then j.limit_key else j.owner end) = l.member and j.priority = l.priority
                    and (j.turn, j.id) >= (l.turn, l.id) and j.turn <= mark.turn and (j.turn, j.id) < (mark.turn, mark.id)
                  -- or the planner takes jobs_ready, where all the others are too
                  order by j.priority desc, j.turn, j.id) as late
               limit v_left) as few;
      jobs := jobs + v_jobs;
      v_left := v_left - v_jobs;
      oldest := least(oldest, v_oldest);
    end if;
    exit when not v_under_quota;
  end loop;
end
$$;
