-- What workers do: the parts of flows, and jobs that stand alone. A lower sequence goes first, as a higher priority does.
-- In so many parts, so that who asks for the tasks of a job gets them by an index, and who asks for those that are pending
-- or claimed reads no history: in each part the one is a column, and the other a constant.
create or replace view public.job_tasks with (security_invoker = true) as
  select t.id, t.job_id, t.owner as user_id, t.kind as task_type, -t.priority as sequence, t.status,
         coalesce(t.args, penstock.payload_of(t.id)) as input, t.output,
         case when t.status <> 'pending' then penstock.task_worker(t.id) end as worker_id,
         t.attempt as attempts, t.max_attempts,
         case when t.attempt > 0 and t.status <> 'complete' then penstock.task_error(t.id) end as error,
         t.created_at, case when t.status <> 'pending' then t.started_at end as claimed_at, t.finished_at as completed_at
    from (
      select id, parent as job_id, owner, kind, priority, case when state = 'running' then 'claimed' else 'pending' end as status,
             args, null::jsonb as output, attempt, max_attempts, created_at, started_at, null::timestamptz as finished_at, rollup
        from penstock.jobs where parent is not null
      union all
      select id, id, owner, kind, priority, case when state = 'running' then 'claimed' else 'pending' end,
             args, null, attempt, max_attempts, created_at, started_at, null, rollup
        from penstock.jobs where parent is null
      union all
      select id, parent, owner, kind, priority, 'complete',
             args, output, attempt, max_attempts, created_at, started_at, finished_at, rollup
        from penstock.history where state = 'succeeded' and parent is not null
      union all
      select id, id, owner, kind, priority, 'complete',
             args, output, attempt, max_attempts, created_at, started_at, finished_at, rollup
        from penstock.history where state = 'succeeded' and parent is null
      union all
      select id, parent, owner, kind, priority, 'failed',
             args, output, attempt, max_attempts, created_at, started_at, finished_at, rollup
        from penstock.history where state = 'failed' and parent is not null
      union all
      select id, id, owner, kind, priority, 'failed',
             args, output, attempt, max_attempts, created_at, started_at, finished_at, rollup
        from penstock.history where state = 'failed' and parent is null
      union all
      select id, parent, owner, kind, priority, 'cancelled',
             args, output, attempt, max_attempts, created_at, started_at, finished_at, rollup
        from penstock.history where state = 'cancelled' and parent is not null
      union all
      select id, id, owner, kind, priority, 'cancelled',
             args, output, attempt, max_attempts, created_at, started_at, finished_at, rollup
        from penstock.history where state = 'cancelled' and parent is null) as t
   where (t.rollup->>'hollow')::boolean is not true;

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
