-- Takes running jobs, already locked, from their lease. Those being cancelled end as cancelled, those whose attempts
-- are spent as failed with p_error, the others are ready again at once. The error names the worker if its lease is
-- still on record. Returns the ids that are ready; of those that failed take_lost() tells.
create or replace function penstock.give_back(p_ids uuid[], p_costs_attempt boolean, p_error text default null)
returns uuid[]
language plpgsql
as $$
declare
  v_now timestamptz := penstock.clock();
  v_cancelled uuid[] := array(select id from penstock.jobs where id = any(p_ids) and cancel_requested);
  v_spent uuid[] := array(
    select id from penstock.jobs
     where id = any(p_ids) and not cancel_requested and p_costs_attempt and attempt >= max_attempts);
  v_errors jsonb := (
    select jsonb_object_agg(j.id, jsonb_build_object('at', v_now, 'attempt', j.attempt, 'error',
             coalesce('worker ' || l.worker || ' was lost: its lease ran out', p_error)))
      from penstock.jobs as j
      left join penstock.leases as l on l.id = j.lease
     where j.id = any(p_ids) and p_error is not null);
  v_ready uuid[];
  v_watched uuid[];
  v_queues text[];
  v_numbers int[];
  v_job record;
begin
  for v_job in
    select j.id, j.parent, j.phase, j.weight, coalesce((j.progress->>'percent')::numeric, 0) as before, again.progress
      from penstock.jobs as j
     cross join lateral (
       select case when p_costs_attempt
                   then penstock.progress_again(j.progress, j.rollup, penstock.shown(jsonb_build_array(v_errors->(j.id::text))),
                                                j.attempt + 1, j.max_attempts)
                   else penstock.progress_again(j.progress, j.rollup, 'its worker was stopped') end as progress) as again
     where j.id = any(p_ids) and not (j.id = any(v_cancelled)) and not (j.id = any(v_spent))
       and (p_costs_attempt or j.progress is not null)
  loop
    update penstock.jobs set progress = v_job.progress where id = v_job.id;
    if v_job.parent is not null then
      perform penstock.bubble(v_job.parent, v_job.phase,
        ((v_job.progress->>'percent')::numeric - v_job.before) / 100 * coalesce(v_job.weight, 1)::numeric,
        v_job.progress->>'message', v_job.id);
    end if;
  end loop;
  with given as (
    update penstock.jobs
       set state = 'ready', lease = null, counted = false, turn = penstock.front_turn(),
           attempt = attempt - (not p_costs_attempt)::int,
           -- a run that costs an attempt was one of a worker that knew the job
           parked_since = case when not p_costs_attempt then parked_since end,
           parked_reason = case when not p_costs_attempt then parked_reason end,
           error_count = case when v_errors ? id::text then coalesce(error_count, 0) + 1 else error_count end
     where id = any(p_ids) and not (id = any(v_cancelled)) and not (id = any(v_spent))
    returning id, queue, watched, error_count
  )
  select array_agg(id), array_agg(id) filter (where watched), array_agg(queue), array_agg(error_count)
    into v_ready, v_watched, v_queues, v_numbers
    from given;
  if v_errors is not null then
    perform penstock.add_error(id, number, v_errors->(id::text)) from unnest(v_ready, v_numbers) as e (id, number);
  end if;
  perform penstock.wake(queue, count(*)::int) from unnest(v_queues) as queue group by queue;
  perform penstock.finish(v_cancelled, 'cancelled', (
    select jsonb_object_agg(id, jsonb_build_object('at', v_now, 'error', 'cancelled')) from unnest(v_cancelled) as id));
  perform penstock.finish(v_spent, 'failed', v_errors);
  perform penstock.note_ended(v_cancelled, 'cancelled');
  perform penstock.note_ended(v_spent, 'failed', 'its worker was lost');
  perform penstock.settle(v_cancelled || v_spent);
  if cardinality(v_spent) > 0 then
    insert into penstock.lost_jobs (job, at) select id, v_now from unnest(v_spent) as id;
  end if;
  if v_watched is not null then
    perform penstock.tell_watchers(v_watched);
  end if;
  return coalesce(v_ready, '{}');
end
$$;
