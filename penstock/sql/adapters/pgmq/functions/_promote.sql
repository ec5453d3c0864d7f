-- Makes what has become due ready, whoever's it is, as penstock.promote() does: here for want of a worker that leads. Messages
-- come to the front, where pgmq has them.
create or replace function pgmq._promote(p_limit int default 1000)
returns void
language plpgsql
set enable_seqscan = off
set enable_bitmapscan = off
set jit = off
as $$
declare
  v_now timestamptz := penstock.clock();
  v_since timestamptz := (penstock.time_floor()).due_since;
  v_queues text[];
  v_fair uuid[];
begin
  if not exists (select from penstock.jobs where state = 'scheduled' and run_at >= v_since and run_at <= v_now) then
    return;
  end if;
  with due as (
    update penstock.jobs
       set state = 'ready', waiting_on = 0,
           turn = case when kind = queue and substring(uuid_send(id) from 7 for 2) = '\x7000' then pgmq._turn(id) else penstock.next_turn() end
     where id = any(array(
             select id from penstock.jobs
              where state = 'scheduled' and run_at >= v_since and run_at <= v_now
              order by run_at
              limit p_limit
                for update skip locked))
    returning id, queue, turn
  )
  select array_agg(due.queue), array_agg(due.id) filter (where q.fair_by is not null and due.turn >= 0)
    into v_queues, v_fair
    from due
    left join penstock.queues as q on q.name = due.queue;
  if v_fair is not null then
    perform penstock.retake_turns(v_fair);
  end if;
  perform penstock.wake(queue, count(*)::int) from unnest(v_queues) as queue group by queue;
end
$$;
