-- Puts jobs that have not started into another queue or under another priority: what is ready with a new turn, because below the
-- floors of that line nobody looks. Must use jobs_pkey.
create or replace function penstock.requeue(p_ids uuid[], p_queue text, p_priority int)
returns uuid[]
language plpgsql
set enable_seqscan = off
set enable_bitmapscan = off
set jit = off
as $$
declare
  v_changed uuid[];
  v_ready uuid[];
  v_queues text[];
begin
  with changed as (
    update penstock.jobs
       set queue = coalesce(p_queue, queue), priority = coalesce(p_priority, priority),
           turn = case when state = 'ready' then penstock.next_turn() else turn end
     where id = any(array(
             select id from penstock.jobs
              where id = any(p_ids) and state in ('blocked', 'scheduled', 'ready')
                and (queue <> p_queue or priority <> p_priority)
              order by id
                for update))
    returning id, queue, state
  )
  select coalesce(array_agg(id order by id), '{}'), array_agg(id) filter (where state = 'ready'),
         array_agg(queue) filter (where state = 'ready')
    into v_changed, v_ready, v_queues
    from changed;
  if v_ready is not null then
    perform penstock.retake_turns(v_ready);
    perform penstock.wake(queue, count(*)::int) from unnest(v_queues) as queue group by queue;
  end if;
  return v_changed;
end
$$;
