-- Jobs that are no part of another: flows, and those that stand alone. Whose they are is decided by the policies of what it reads.
-- In parts as job_tasks is, for the same reason.
create or replace view public.jobs with (security_invoker = true) as
  select j.id, j.owner as user_id, j.kind as type, coalesce(j.args, penstock.payload_of(j.id)) as params, j.status,
         jsonb_build_object(
           'percent', case when j.status = 'complete' then 100 else coalesce((j.progress->>'percent')::numeric, 0) end,
           'phase', case when j.status = 'complete' then 'complete' else coalesce(j.progress->>'phase', j.status) end,
           'docsComplete', j.progress->'done', 'docsTotal', j.progress->'total', 'message', j.progress->'message') as progress,
         j.output,
         case when j.status in ('failed', 'cancelled')
              then coalesce(penstock.task_error(j.id),
                            format('%s of %s tasks failed', j.progress->>'failed', j.progress->>'total')) end as error,
         j.created_at, j.started_at, j.finished_at as completed_at
    from (
      select id, owner, kind, args, progress, null::jsonb as output, created_at, started_at, null::timestamptz as finished_at,
             case when state = 'running'
                    or (rollup is not null
                        and ((progress->>'percent')::numeric > 0
                             or exists (select from penstock.jobs as task where task.parent = jobs.id and task.state = 'running')))
                  then 'processing' else 'queued' end as status
        from penstock.jobs where parent is null
      union all
      -- complete is what has all of its tasks; a batch of ours that goes on without some has succeeded
      select id, owner, kind, args, progress, output, created_at, started_at, finished_at, 'complete'
        from penstock.history
       where parent is null and state = 'succeeded' and (rollup->>'hollow' = 'true' and progress ? 'failed') is not true
      union all
      select id, owner, kind, args, progress, output, created_at, started_at, finished_at, 'failed'
        from penstock.history
       where parent is null and (state = 'failed' or (state = 'succeeded' and rollup->>'hollow' = 'true' and progress ? 'failed'))
      union all
      select id, owner, kind, args, progress, output, created_at, started_at, finished_at, 'cancelled'
        from penstock.history where parent is null and state = 'cancelled') as j;

-- What a user inserts is started as by penstock.start(): a declared kind, on their own name, within their quota. What the service
-- inserts is a job that its tasks make up: it ends with them.
create or replace function penstock.insert_job()
returns trigger
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
declare
  v_id uuid;
begin
  if coalesce(new.status, 'queued') <> 'queued' then
    raise exception 'status: a new job is queued, not %', new.status using errcode = '22023';
  end if;
  if coalesce(new.type, '') = '' then
    raise exception 'type: must not be empty' using errcode = '22023';
  elsif jsonb_typeof(new.params) <> 'object' then
    raise exception 'params: must be a JSON object' using errcode = '22023';
  end if;
  if not penstock.is_service() then
    if new.user_id is distinct from penstock.caller() and new.user_id is not null then
      raise exception 'user_id: jobs are started on one''s own name' using errcode = '42501';
    end if;
    select s.id into v_id from penstock.start(new.type, new.params) as s;
  else
    v_id := penstock.open_job(new.type, coalesce(new.params, '{}'), new.user_id);
  end if;
  select * into new from public.jobs where id = v_id;
  return new;
end
$$;
create or replace trigger insert_job instead of insert on public.jobs for each row execute function penstock.insert_job();
