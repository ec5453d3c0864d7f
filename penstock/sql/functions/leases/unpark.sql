-- A worker came that has handlers of these kinds: parked jobs of its queues, or of all when it names none, are ready at once.
-- Those beyond p_limit when their time comes, and those that were tried within the last second too: it may be the handler's
-- arguments that they do not fit, and whoever comes again and again must not meet them each time. Returns how many.
-- Must use jobs_parked, then jobs_pkey.
create or replace function penstock.unpark(p_kinds text[], p_queues text[] default '{}', p_limit int default 10000)
returns int
language plpgsql
set enable_seqscan = off
set jit = off
set enable_bitmapscan = off
as $$
declare
  v_now timestamptz := penstock.clock();
  v_queues text[];
  v_back uuid[];
begin
  with back as (
    update penstock.jobs
       set state = 'ready', run_at = v_now, turn = penstock.next_turn()
     where id = any(array(
             select id from penstock.jobs
              where parked_since is not null and kind = any(p_kinds)
                and (p_queues = '{}' or queue = any(p_queues))
                -- saying scheduled would offer the planner jobs_scheduled
                and state <> 'ready' and state <> 'running' and started_at <= v_now - interval '1 second'
              limit p_limit
                for update skip locked))
    returning id, queue
  )
  select array_agg(queue), array_agg(id) into v_queues, v_back from back;
  if v_back is not null then
    perform penstock.retake_turns(v_back);
  end if;
  perform penstock.wake(queue, count(*)::int) from unnest(v_queues) as queue group by queue;
  return coalesce(cardinality(v_queues), 0);
end
$$;
