-- Finishes running jobs: one statement deletes the live rows and writes history (14 us a job; updating the row in
-- place cost 21). p_outputs is a JSON array in the order of p_ids, or null. Returns the ids that were refused because
-- the lease or the claim is no longer the job's own: normally none.
--
-- The delete must use jobs_pkey, by an array of ids. Naming state = 'running' there would offer the planner jobs_running,
-- whose dead entries an old snapshot keeps: 46k/s fell to 15k/s. Joining it to the ids read the whole table once
-- for each (140 us a job). Hence one delete for each number of claims, which is nearly always 1.
-- Jobs of flows come in a second pass, when their flows are locked (lock_flows); the others pay nothing for it.
create or replace function penstock.complete(p_lease bigint, p_ids uuid[], p_claims int[], p_outputs jsonb default null)
returns uuid[]
language plpgsql
set enable_seqscan = off
set enable_bitmapscan = off
set jit = off
set plan_cache_mode = force_generic_plan
as $$
declare
  v_now timestamptz := penstock.clock();
  v_forgotten text[] := array(select name from penstock.queues where keep = 'failed');
  v_claims int;
  v_done uuid[];
  v_in_flows uuid[];
  v_watched uuid[];
  v_freed text[];
  v_unkept uuid[];
  v_gone uuid[];
  v_all_done uuid[] := '{}';
  v_all_in_flows uuid[] := '{}';
begin
  for v_pass in 1 .. 2 loop
    for v_claims in select distinct unnest(p_claims) loop
      with done as (
        delete from penstock.jobs
         where id = any(array(select id from unnest(p_ids, p_claims) as d (id, claims) where claims = v_claims))
           and claims = v_claims and lease = p_lease and (parent is null or v_pass = 2)
        -- what the later parts read comes first: each reads a row only as far as it must
        returning id, started_at, awaited, watched, counted, args is null or error_count is not null as has_more,
                  kind, org, parent, queue, rollup,
                  created_at, run_at, turn, lease, priority, attempt, max_attempts, claims, snoozes, max_snoozes, weight,
                  owner, unique_key, limit_key, phase, args, progress, error_count, options, quota
      ), filed as (
        insert into penstock.history (
          id, created_at, run_at, started_at, finished_at, turn, lease, state, priority, attempt, max_attempts, claims,
          snoozes, max_snoozes, weight, awaited, queue, kind, parent, owner, org, unique_key, limit_key, phase, args,
          progress, rollup, error_count, options, quota, output)
        select done.id, created_at, run_at, started_at, v_now, turn, lease, 'succeeded', priority, attempt, max_attempts,
               claims, snoozes, max_snoozes, weight, awaited, queue, kind, parent, owner, org, unique_key, limit_key,
               phase, args, case when progress ? 'reason' then penstock.last_progress(progress) else progress end, rollup,
               error_count, options, quota, nullif(o.output, 'null')
          from done
          left join rows from (unnest(case when p_outputs is not null then p_ids end), jsonb_array_elements(p_outputs))
               as o (id, output) on o.id = done.id
         where queue <> all(v_forgotten) or awaited or parent is not null or rollup is not null
      ), metered as (
        insert into penstock.usage_log (day, org, kind, runs, seconds, failures, bytes)
        select (v_now at time zone 'utc')::date, coalesce(org, ''), kind,
               count(*), extract(epoch from sum(v_now - started_at)), 0, 0
          from done
         group by org, kind
      )
      select array_agg(id),
             array_agg(id) filter (where awaited or parent is not null),
             array_agg(id) filter (where watched),
             array_agg(queue) filter (where counted),
             array_agg(id) filter (
               where has_more and queue = any(v_forgotten) and not awaited and parent is null and rollup is null),
             array_agg(id) filter (where queue = any(v_forgotten) and not awaited and parent is null and rollup is null)
        into v_done, v_in_flows, v_watched, v_freed, v_unkept, v_gone
        from done;

      if v_watched is not null then
        perform penstock.tell_watchers(v_watched);
      end if;
      if v_freed is not null then
        perform penstock.wake(queue, count(*)::int) from unnest(v_freed) as queue group by queue;
      end if;
      if v_unkept is not null then
        perform penstock.forget(v_unkept);
      end if;
      if v_gone is not null then
        -- those by which a callback is known as taken go with their events, see drop_old_history()
        delete from penstock.steps where job = any(v_gone) and kind <> 'callback';
      end if;
      v_all_done := v_all_done || v_done;
      v_all_in_flows := v_all_in_flows || v_in_flows;
    end loop;
    exit when v_pass = 2 or cardinality(v_all_done) = cardinality(p_ids);
    perform penstock.lock_flows(p_ids);
  end loop;
  if cardinality(v_all_in_flows) > 0 then
    perform penstock.settle(v_all_in_flows);
  end if;

  if cardinality(v_all_done) = cardinality(p_ids) then
    return '{}';
  end if;
  return array(select unnest(p_ids) except select unnest(v_all_done));
end
$$;
