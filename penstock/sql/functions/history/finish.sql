-- Moves live jobs to history in a final state; a worker's success has its own way there (complete). p_errors maps an id to
-- the error to add to its list. Tells watchers and frees the slots the jobs held. Returns which jobs these were, and those
-- among them that others may wait for, who are the caller's to settle.
create or replace function penstock.finish(
  p_ids uuid[], p_state penstock.job_state, p_errors jsonb default '{}', p_output jsonb default null,
  out finished uuid[], out settling uuid[]
)
language plpgsql
set enable_seqscan = off
set jit = off
set enable_bitmapscan = off
as $$
declare
  v_now timestamptz := penstock.clock();
  v_watched uuid[];
  v_freed text[];
  v_failed uuid[];
  v_numbers int[];
begin
  if cardinality(p_ids) = 0 then
    return; -- see lock_flows()
  end if;
  if p_state <> 'succeeded' then
    perform penstock.take_back(flow)
       from penstock.jobs as flow
      where flow.id = any(p_ids) and flow.rollup is not null;
  end if;
  with done as (
    delete from penstock.jobs
     where id = any(array(select unnest(p_ids) order by 1))
    returning *
  ), filed as (
    insert into penstock.history (
      id, created_at, run_at, started_at, finished_at, turn, lease, state, priority, attempt, max_attempts, claims,
      snoozes, max_snoozes, weight, awaited, queue, kind, parent, owner, org, unique_key, limit_key, phase, args,
      progress, rollup, error_count, options, quota, output)
    select id, created_at, run_at, started_at, v_now, turn, lease, p_state, priority, attempt, max_attempts, claims,
           snoozes, max_snoozes, weight, awaited, queue, kind, parent, owner, org, unique_key, limit_key, phase, args,
           case when progress ? 'reason' then penstock.last_progress(progress) else progress end, rollup,
           case when p_errors ? id::text then coalesce(error_count, 0) + 1 else error_count end, options, quota, p_output
      from done
  )
  select array_agg(id),
         array_agg(id) filter (where awaited or parent is not null),
         array_agg(id) filter (where watched),
         array_agg(queue) filter (where counted),
         array_agg(id) filter (where p_errors ? id::text),
         array_agg(coalesce(error_count, 0) + 1) filter (where p_errors ? id::text)
    into finished, settling, v_watched, v_freed, v_failed, v_numbers
    from done;
  delete from penstock.waits where job = any(p_ids);
  if v_failed is not null then
    perform penstock.add_error(id, number, p_errors->(id::text)) from unnest(v_failed, v_numbers) as e (id, number);
  end if;
  if v_watched is not null then
    perform penstock.tell_watchers(v_watched);
  end if;
  if v_freed is not null then
    perform penstock.wake(queue, count(*)::int) from unnest(v_freed) as queue group by queue;
  end if;
end
$$;
