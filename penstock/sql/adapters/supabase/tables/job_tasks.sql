-- What workers do: the parts of flows, and jobs that stand alone. A lower sequence goes first, as a higher priority does.
create or replace view public.job_tasks with (security_invoker = true) as
  select m.id, coalesce(m.parent, m.id) as job_id, m.owner as user_id, m.kind as task_type, -m.priority as sequence,
         case m.state when 'running' then 'claimed' when 'succeeded' then 'complete' when 'failed' then 'failed'
                      when 'cancelled' then 'cancelled' else 'pending' end as status,
         m.args as input, m.output,
         case when m.state in ('running', 'succeeded', 'failed', 'cancelled') then penstock.task_worker(m.id) end as worker_id,
         m.attempt as attempts, m.max_attempts,
         case when m.attempt > 0 and m.state <> 'succeeded' then penstock.task_error(m.id) end as error,
         m.created_at,
         case when m.state in ('running', 'succeeded', 'failed', 'cancelled') then m.started_at end as claimed_at,
         m.finished_at as completed_at
    from penstock.my_jobs as m
   where (m.rollup->>'hollow')::boolean is not true;

create or replace function penstock.insert_task()
returns trigger
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
begin
  if coalesce(new.status, 'pending') <> 'pending' then
    raise exception 'status: a new task is pending, not %', new.status using errcode = '22023';
  end if;
  if coalesce(new.task_type, '') = '' then
    raise exception 'task_type: must not be empty' using errcode = '22023';
  elsif jsonb_typeof(new.input) <> 'object' then
    raise exception 'input: must be a JSON object' using errcode = '22023';
  elsif new.max_attempts < 1 then
    raise exception 'max_attempts: must be at least 1, not %', new.max_attempts using errcode = '22023';
  end if;
  new.id := penstock.add_task(
    new.job_id, new.task_type, coalesce(new.sequence, 0), coalesce(new.input, '{}'), coalesce(new.max_attempts, 3));
  select * into new from public.job_tasks where id = new.id;
  return new;
end
$$;
create or replace trigger insert_task instead of insert on public.job_tasks for each row execute function penstock.insert_task();
