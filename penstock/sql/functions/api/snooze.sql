-- Puts running jobs back to look again later, at no cost of an attempt. Snoozes have a budget of their own
-- (max_snoozes): a poll that goes on past it has failed. Returns what became of each; a refused one is not among them, one
-- that was given up before is, see reported_before().
create or replace function penstock.snooze(p_lease bigint, p_ids uuid[], p_claims int[], p_seconds double precision[])
returns table (id uuid, state penstock.job_state, run_at timestamptz)
language plpgsql
set enable_seqscan = off
set jit = off
set enable_bitmapscan = off
as $$
#variable_conflict use_column
declare
  v_now timestamptz := penstock.numbered_clock();
  v_told uuid[] := '{}';
  v_ended uuid[] := '{}';
  v_job record;
begin
  perform penstock.lock_flows(p_ids);
  -- the loop of fail() again: what the two share is around what differs, and a function for that would be called for each job
  for v_job in
    select j.*, greatest(d.seconds, 0) as seconds
      from penstock.jobs as j
      join unnest(p_ids, p_claims, p_seconds) as d (id, claims, seconds) on d.id = j.id and d.claims = j.claims
     where j.id = any(p_ids) and j.lease = p_lease
     order by j.id
       for update of j
  loop
    id := v_job.id;
    if v_job.cancel_requested or v_job.snoozes >= v_job.max_snoozes then
      state := case when v_job.cancel_requested then 'cancelled' else 'failed' end;
      run_at := null;
      perform penstock.finish(array[v_job.id], state, jsonb_build_object(v_job.id, jsonb_build_object(
        'at', v_now, 'attempt', v_job.attempt, 'error',
        case when v_job.cancel_requested then 'cancelled'
             else format('still not done after %s snoozes', v_job.snoozes) end)));
      v_ended := v_ended || v_job.id;
    else
      state := case when v_job.seconds > 0 then 'scheduled' else 'ready' end;
      run_at := v_now + make_interval(secs => v_job.seconds);
      update penstock.jobs as j
         set state = snooze.state, turn = penstock.next_turn(), run_at = snooze.run_at, lease = null, counted = false,
             attempt = j.attempt - 1, snoozes = j.snoozes + 1, parked_since = null, parked_reason = null
       where j.id = v_job.id;
      if v_job.watched then
        perform penstock.tell_watchers(array[v_job.id]);
      end if;
      if state = 'ready' then
        -- of what comes due later, promote() sees to it
        perform penstock.retake_turns(array[v_job.id]);
      end if;
      if v_job.counted or state = 'ready' then
        perform penstock.wake(v_job.queue);
      end if;
    end if;
    -- a poll that looks again later is not a run; its time counts
    insert into penstock.usage_log (day, org, kind, runs, seconds, failures, bytes)
    values ((v_now at time zone 'utc')::date, coalesce(v_job.org, ''), v_job.kind,
            (state not in ('scheduled', 'ready'))::int, extract(epoch from v_now - v_job.started_at), (state = 'failed')::int, 0);
    v_told := v_told || v_job.id;
    return next;
  end loop;
  if cardinality(v_ended) > 0 then
    perform penstock.settle(v_ended);
  end if;
  if cardinality(v_told) < cardinality(p_ids) then
    return query
      select before.*
        from penstock.reported_before(
          p_lease, p_ids, p_claims, array_fill('still not done after '::text, array[cardinality(p_ids)])) as before
       where id <> all(v_told);
  end if;
end
$$;
