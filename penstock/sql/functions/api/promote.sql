-- Makes scheduled jobs whose time has come ready. Returns how many. In a fair queue they come to the end of their key's
-- line, whoever was due first before the others: with the turns of their enqueueing, which were served long ago, a poll that
-- looks every five seconds would be served again before one that has not been looked at yet, and a thousand delayed jobs of
-- one tenant before anybody else's next.
-- Looks from where the scheduled jobs begin (time_floors), unless p_everywhere. Must use jobs_scheduled, then jobs_pkey.
create or replace function penstock.promote(p_limit int default 1000, p_everywhere boolean default false)
returns int
language plpgsql
set enable_seqscan = off
set jit = off
set enable_bitmapscan = off
as $$
declare
  -- a variable, because clock() is volatile: compared with it directly, every scheduled row is read
  v_now timestamptz := penstock.clock();
  v_since timestamptz := case when p_everywhere then '-infinity' else (penstock.time_floor()).due_since end;
  v_queues text[];
  v_fair uuid[];
begin
  with due as (
    update penstock.jobs
       set state = 'ready', turn = penstock.next_turn(), waiting_on = 0
     where id = any(array(
             select id from penstock.jobs
              where state = 'scheduled' and run_at >= v_since and run_at <= v_now
              order by run_at
              limit p_limit
                for update skip locked))
    returning id, queue
  )
  select array_agg(due.queue), array_agg(due.id) filter (where q.fair_by is not null)
    into v_queues, v_fair
    from due
    left join penstock.queues as q on q.name = due.queue;
  if v_fair is not null then
    perform penstock.retake_turns(v_fair);
  end if;
  perform penstock.wake(queue, count(*)::int) from unnest(v_queues) as queue group by queue;
  return coalesce(cardinality(v_queues), 0);
end
$$;
