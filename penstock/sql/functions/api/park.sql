-- Puts running jobs aside that their worker does not know: it has no handler of the kind, or none that takes these
-- arguments, as happens while a version is rolled out or back. That costs no attempt: a worker that knows them may come, and
-- makes them ready when it opens its lease (unpark). Until then they are tried again after half of the time that they have been
-- parked, so that any number of them keeps nobody busy: at most every 30 seconds while a live worker has a handler of the
-- kind, else every 5 minutes. After the queue's parked_timeout, 3 days by default, a job has failed.
-- p_reasons says why, in the order of p_ids. Returns what became of each; a refused one is not among them, one
-- that was given up before is, see reported_before().
create or replace function penstock.park(p_lease bigint, p_ids uuid[], p_claims int[], p_reasons text[])
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
  v_timeout interval;
  v_age interval;
  v_job record;
begin
  perform penstock.lock_flows(p_ids);
  -- the loop of fail() again: what the two share is around what differs, and a function for that would be called for each job
  for v_job in
    select j.*, left(d.reason, 8000) as reason
      from penstock.jobs as j
      join unnest(p_ids, p_claims, p_reasons) as d (id, claims, reason) on d.id = j.id and d.claims = j.claims
     where j.id = any(p_ids) and j.lease = p_lease
     order by j.id
       for update of j
  loop
    id := v_job.id;
    v_age := v_now - coalesce(v_job.parked_since, v_now);
    v_timeout := coalesce(
      (select q.parked_timeout from penstock.queues as q where q.name = v_job.queue), interval '3 days');
    if v_job.cancel_requested or v_age >= v_timeout then
      state := case when v_job.cancel_requested then 'cancelled' else 'failed' end;
      run_at := null;
      update penstock.jobs as j set attempt = j.attempt - 1 where j.id = v_job.id;
      perform penstock.finish(array[v_job.id], state, jsonb_build_object(v_job.id, jsonb_build_object('at', v_now) ||
        case when v_job.cancel_requested then '{"error": "cancelled"}'
             else jsonb_build_object('type', 'Parked', 'error',
                    format('no worker that knows it came within %s: %s', v_timeout, v_job.reason)) end));
      v_ended := v_ended || v_job.id;
    else
      state := 'scheduled';
      run_at := v_now + least(
        greatest(v_age / 2, interval '1 second'),
        case when exists (select from penstock.leases_now as l where v_job.kind = any(l.kinds) and l.expires_at > v_now)
             then interval '30 seconds' else interval '5 minutes' end,
        v_timeout - v_age);
      update penstock.jobs as j
         set state = park.state, run_at = park.run_at, lease = null, counted = false, attempt = j.attempt - 1,
             parked_since = coalesce(j.parked_since, v_now), parked_reason = v_job.reason
       where j.id = v_job.id;
      if v_job.watched then
        perform penstock.tell_watchers(array[v_job.id]);
      end if;
      if v_job.counted then
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
          p_lease, p_ids, p_claims, array_fill('no worker that knows it came '::text, array[cardinality(p_ids)])) as before
       where id <> all(v_told);
  end if;
end
$$;
