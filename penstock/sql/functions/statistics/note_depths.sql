-- Notes how much every queue has to do, once a minute.
create or replace function penstock.note_depths()
returns void
language plpgsql
as $$
declare
  v_now timestamptz := penstock.clock();
  v_minute timestamptz := date_trunc('minute', v_now);
begin
  if exists (select from penstock.depths where at = v_minute) then
    return;
  end if;
  insert into penstock.depths (at, queue, ready, running, oldest_ready_seconds)
  select v_minute, name, ready.jobs, coalesce(running.jobs, 0), extract(epoch from v_now - ready.oldest)
    from (select unnest(penstock.queue_names()) union select queue from penstock.running_jobs()) as queues (name)
    left join (select queue, count(*) as jobs from penstock.running_jobs() group by queue) as running on running.queue = name
   cross join lateral penstock.ready_jobs(name, 100000) as ready
   where ready.jobs > 0 or running.jobs > 0;
end
$$;
