-- Makes scheduled jobs whose time has come ready. Returns how many.
-- Must use jobs_scheduled, then jobs_pkey.
create or replace function penstock.promote(p_limit int default 1000)
returns int
language plpgsql
set enable_seqscan = off
set jit = off
set enable_bitmapscan = off
as $$
declare
  -- a variable, because clock() is volatile: compared with it directly, every scheduled row is read
  v_now timestamptz := penstock.clock();
  v_queues text[];
begin
  with due as (
    update penstock.jobs
       set state = 'ready'
     where id = any(array(
             select id from penstock.jobs
              where state = 'scheduled' and run_at <= v_now
              order by run_at
              limit p_limit
                for update skip locked))
    returning queue
  )
  select array_agg(queue) into v_queues from due;
  perform penstock.wake(queue, count(*)::int) from unnest(v_queues) as queue group by queue;
  return coalesce(cardinality(v_queues), 0);
end
$$;
