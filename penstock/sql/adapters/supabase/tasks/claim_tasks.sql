-- Claims up to p_max_tasks tasks for a worker, the lowest sequence first. A task is kept for five minutes, or as long as its queue
-- says, and again by each heartbeat: each has a lease of its own, so that one which falls silent goes back by itself. Without types
-- it takes any of these queues; tasks that were inserted wait in `tasks`.
create or replace function public.claim_tasks(
  p_worker_id text, p_max_tasks int default 1, p_task_types text[] default null, p_queues text[] default '{tasks}'
)
returns setof public.job_tasks
language plpgsql
set search_path = pg_catalog, pg_temp
set enable_seqscan = off
as $$
declare
  v_queue text;
  v_lease bigint;
  v_task uuid;
  v_tasks uuid[] := '{}';
begin
  if coalesce(p_worker_id, '') = '' then
    raise exception 'p_worker_id: must not be empty' using errcode = '22023';
  elsif p_max_tasks is null or p_max_tasks not between 1 and 100 then
    raise exception 'p_max_tasks: must be from 1 to 100, not %', p_max_tasks using errcode = '22023';
  end if;
  -- for where no worker of ours does so
  perform penstock.promote(100);
  foreach v_queue in array coalesce(p_queues, '{}') loop
    while cardinality(v_tasks) < p_max_tasks loop
      v_lease := penstock.open_lease(
        p_worker_id, extract(epoch from coalesce((select q.lease_length from penstock.queues as q where q.name = v_queue),
                                                 interval '5 minutes')), array[v_queue]);
      select c.id into v_task from penstock.claim(v_lease, v_queue, 1, p_kinds => p_task_types) as c;
      if not found then
        delete from penstock.leases where id = v_lease;
        exit;
      end if;
      -- the lease goes with the task; who did it is to be seen afterwards too
      update penstock.jobs set options = coalesce(options, '{}') || jsonb_build_object('worker_id', p_worker_id) where id = v_task;
      v_tasks := v_tasks || v_task;
    end loop;
  end loop;
  return query select t.* from public.job_tasks as t where t.id = any(v_tasks) order by array_position(v_tasks, t.id);
end
$$;
