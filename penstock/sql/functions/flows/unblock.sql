-- A blocked job has nothing left to wait for. It becomes ready (or scheduled, if its time has not come); a flow that
-- is being cancelled, or has no handler of its own, ends here. Returns the ids that ended; of a flow that failed
-- take_lost() tells, since no worker has reported it.
create or replace function penstock.unblock(p_job penstock.jobs)
returns uuid[]
language plpgsql
as $$
declare
  v_counts jsonb;
  v_jobs text;
  v_why text;
begin
  if p_job.rollup is not null then
    v_counts := jsonb_build_object(
      'total', p_job.rollup->'total', 'succeeded', p_job.rollup->'succeeded',
      'failed', p_job.rollup->'failed', 'cancelled', p_job.rollup->'cancelled');
    v_jobs := (p_job.rollup->>'total') || case p_job.rollup->>'total' when '1' then ' job' else ' jobs' end;
    if p_job.cancel_requested then
      v_why := case when (p_job.rollup->>'failed')::int > 0
                    then format('%s of %s failed', p_job.rollup->>'failed', v_jobs) end;
      if not (p_job.rollup->>'policy' = 'cancel' and v_why is not null) then
        perform penstock.finish(array[p_job.id], 'cancelled',
          jsonb_build_object(p_job.id, jsonb_build_object('at', penstock.clock(), 'attempt', p_job.attempt, 'error',
            coalesce(v_why, 'cancelled'))),
          v_counts);
        return array[p_job.id];
      end if;
    elsif (p_job.rollup->>'hollow')::boolean and (p_job.rollup->>'succeeded')::int > 0 then
      perform penstock.finish(array[p_job.id], 'succeeded', '{}', v_counts);
      return array[p_job.id];
    elsif (p_job.rollup->>'hollow')::boolean then
      v_why := format('none of %s succeeded', v_jobs);
    end if;
    if v_why is not null then
      perform penstock.finish(array[p_job.id], 'failed',
        jsonb_build_object(p_job.id, jsonb_build_object('at', penstock.clock(), 'attempt', p_job.attempt,
          'type', 'FlowFailed', 'error', v_why)),
        v_counts);
      insert into penstock.lost_jobs (job, at) values (p_job.id, penstock.clock());
      return array[p_job.id];
    end if;
  end if;
  update penstock.jobs
     set state = case when run_at > penstock.clock() then 'scheduled' else 'ready' end::penstock.job_state,
         turn = coalesce((
           select penstock.take_turns(p_job.queue,
                    case fair_by when 'owner' then p_job.owner when 'org' then p_job.org else p_job.limit_key end, 1)
             from penstock.queues
            where name = p_job.queue and fair_by is not null), penstock.next_turn())
   where id = p_job.id;
  perform penstock.wake(p_job.queue);
  return '{}';
end
$$;
