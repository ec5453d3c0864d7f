-- Reports attempts that failed. p_errors is a JSON array in the order of p_ids of
--   {"error": text, "type": text, "traceback": text, "retry_in": seconds, "final": bool}
-- A job with attempts left goes back to scheduled by its backoff (its own, else its queue's, else the default) or by
-- retry_in; otherwise it has failed for good. Returns what became of each; a refused one is not among them, one that
-- was reported before is, see reported_before().
create or replace function penstock.fail(p_lease bigint, p_ids uuid[], p_claims int[], p_errors jsonb)
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
  v_error jsonb;
  v_delay interval;
  v_progress jsonb;
begin
  perform penstock.lock_flows(p_ids);
  for v_job in
    select j.*, d.failure
      from penstock.jobs as j
      join rows from (unnest(p_ids), unnest(p_claims), jsonb_array_elements(p_errors)) as d (id, claims, failure)
        on d.id = j.id and d.claims = j.claims
     where j.id = any(p_ids) and j.lease = p_lease
     order by j.id
       for update of j
  loop
    v_error := (v_job.failure - 'retry_in' - 'final')
      || jsonb_build_object('at', v_now, 'attempt', v_job.attempt, 'error', left(v_job.failure->>'error', 8000));
    insert into penstock.usage_log (day, org, kind, runs, seconds, failures, bytes)
    values ((v_now at time zone 'utc')::date, coalesce(v_job.org, ''), v_job.kind,
            1, extract(epoch from v_now - v_job.started_at), 1, 0);
    id := v_job.id;
    if v_job.cancel_requested or coalesce((v_job.failure->>'final')::boolean, false) or v_job.attempt >= v_job.max_attempts then
      state := case when v_job.cancel_requested then 'cancelled' else 'failed' end;
      run_at := null;
      perform penstock.finish(array[v_job.id], state, jsonb_build_object(v_job.id, v_error));
      v_ended := v_ended || v_job.id;
    else
      v_delay := coalesce(
        make_interval(secs => (v_job.failure->>'retry_in')::double precision),
        penstock.backoff_delay(
          coalesce(v_job.options->'backoff', (select q.backoff from penstock.queues as q where q.name = v_job.queue)),
          v_job.attempt));
      state := case when v_delay > interval '0' then 'scheduled' else 'ready' end;
      run_at := v_now + v_delay;
      v_progress := penstock.progress_again(v_job.progress, v_job.rollup, penstock.shown(jsonb_build_array(v_error)),
        v_job.attempt + 1, v_job.max_attempts);
      update penstock.jobs as j
         set state = fail.state, turn = penstock.next_turn(), run_at = fail.run_at, lease = null, counted = false,
             parked_since = null, parked_reason = null, error_count = coalesce(j.error_count, 0) + 1,
             progress = v_progress
       where j.id = v_job.id;
      perform penstock.add_error(v_job.id, coalesce(v_job.error_count, 0) + 1, v_error);
      if v_job.parent is not null then
        perform penstock.bubble(v_job.parent, v_job.phase,
          ((v_progress->>'percent')::numeric - coalesce((v_job.progress->>'percent')::numeric, 0)) / 100
            * coalesce(v_job.weight, 1)::numeric, v_progress->>'message', v_job.id);
      end if;
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
          p_lease, p_ids, p_claims, array(select left(failure->>'error', 8000) from jsonb_array_elements(p_errors) as failure)) as before
       where id <> all(v_told);
  end if;
end
$$;
