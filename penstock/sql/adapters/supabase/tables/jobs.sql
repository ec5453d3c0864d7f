-- Jobs that are no part of another: flows, and those that stand alone. Whose they are is decided by the policies of what it reads.
create or replace view public.jobs with (security_invoker = true) as
  select j.id, j.owner as user_id, j.kind as type, j.args as params, j.status,
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
      select m.id, m.owner, m.kind, m.args, m.progress, m.output, m.created_at, m.started_at, m.finished_at,
             case m.state
               -- complete is what has all of its tasks; a batch of ours that goes on without some has succeeded
               when 'succeeded' then case when m.rollup->>'hollow' = 'true' and m.progress ? 'failed' then 'failed' else 'complete' end
               when 'failed' then 'failed' when 'cancelled' then 'cancelled'
               when 'running' then 'processing'
               else case when m.rollup is not null
                          and ((m.progress->>'percent')::numeric > 0
                               or exists (select from penstock.jobs as task where task.parent = m.id and task.state = 'running'))
                         then 'processing' else 'queued' end
             end as status
        from penstock.my_jobs as m
       where m.parent is null) as j;

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
