-- Enqueues the jobs that a running job calls, as its children, and returns the job with what it waits for counted. How far it is, is
-- told by what they have done; each time it calls some, they have half of the way that is left.
create or replace function penstock.add_calls(p_caller penstock.jobs, p_jobs jsonb)
returns penstock.jobs
language plpgsql
set enable_seqscan = off
as $$
declare
  v_calls int := jsonb_array_length(p_jobs);
  v_percent numeric := coalesce((p_caller.progress->>'percent')::numeric, 0);
  v_queues text[] := '{}';
  v_job jsonb;
  v_row penstock.jobs;
begin
  for v_job in select * from jsonb_array_elements(p_jobs) loop
    v_job := v_job || jsonb_build_object('parent', p_caller.id);
    if v_job ? 'rollup' or v_job ? 'after' then
      raise exception 'jobs: a call is of one handler, without after' using errcode = 'PS001';
    end if;
    v_row := penstock.new_job(v_job);
    v_row.waiting_on := 0;
    v_row.awaited := false;
    perform penstock.enqueue_one(v_row, v_job, p_jobs);
    v_queues := v_queues || v_row.queue;
  end loop;
  p_caller.rollup := jsonb_build_object(
    'policy', 'continue', 'calls', true, 'start', v_percent,
    'total', coalesce((p_caller.rollup->>'total')::int, 0) + v_calls,
    'succeeded', coalesce((p_caller.rollup->>'succeeded')::int, 0),
    'failed', coalesce((p_caller.rollup->>'failed')::int, 0),
    'cancelled', coalesce((p_caller.rollup->>'cancelled')::int, 0),
    'phases', jsonb_build_array(jsonb_build_object(
      'name', '', 'span', round((100 - v_percent) / 2, 2), 'weight', v_calls, 'done', 0)));
  p_caller.waiting_on := p_caller.waiting_on + v_calls;
  perform penstock.wake(queue, count(*)::int) from unnest(v_queues) as queue group by queue;
  return p_caller;
end
$$;
