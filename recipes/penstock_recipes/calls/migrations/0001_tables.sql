-- Recordings of calls, and what has been made of them. They belong to organisations: whoever is a member sees them all.
set local search_path = pg_catalog, pg_temp;
create schema calls;

create table calls.calls (
  id uuid constraint calls_pkey primary key,
  org_id uuid not null,
  user_id text,
  file_name text not null,
  content_type text not null,
  size bigint not null,
  seconds double precision,
  job_id uuid not null,
  tries int not null default 1,
  idempotency_key text,
  created_at timestamptz not null default now()
);
comment on column calls.calls.user_id is 'Who uploaded it; null for the service.';
comment on column calls.calls.seconds is 'How long it is; known when its sound has been extracted.';
comment on column calls.calls.job_id is 'The flow that works on it: its last step, and the parent of the others.';
comment on column calls.calls.tries is 'How many such flows there were: one, and one more each time it was tried again.';
create index calls_org on calls.calls (org_id, created_at desc, id);
create unique index calls_idempotency_key on calls.calls (org_id, coalesce(user_id, ''), idempotency_key)
  where idempotency_key is not null;

create table calls.artifacts (
  call_id uuid not null constraint artifacts_call references calls.calls on delete cascade,
  org_id uuid not null,
  type text not null,
  artifact_id uuid not null,
  path text not null,
  created_at timestamptz not null default now(),
  constraint artifacts_pkey primary key (call_id, type),
  constraint type_is_known check (type in ('raw', 'audio', 'ogg', 'transcript', 'analysis'))
);
comment on column calls.artifacts.artifact_id is 'The file, as penstock.artifacts_view has it.';

alter table calls.calls enable row level security;
alter table calls.artifacts enable row level security;
create policy members_see_their_organisations on calls.calls for select
  using (org_id::text = any((select penstock.caller_orgs())::text[]));
create policy members_see_their_organisations on calls.artifacts for select
  using (org_id::text = any((select penstock.caller_orgs())::text[]));

-- What the jobs of a call keep from users: the last error, to them only in words meant to be shown, and for the service the
-- worker that has it.
create function calls.told_of(p_job uuid)
returns table (last_error text, worker text)
language sql stable security definer
set search_path = pg_catalog, pg_temp
as $$
  select case when w.is_service then j.errors->-1->>'error' else penstock.shown(j.errors) end,
         case when w.is_service then j.worker end
    from penstock.jobs_view as j
   -- the service, or the login that owns everything, acting for nobody
   cross join (select current_setting('role') = 'service_role'
                   or (current_setting('role') = 'none' and session_user = current_user) as is_service) as w
   where j.id = p_job
     and (w.is_service or penstock.is_callers(j.owner, j.org))
$$;
revoke all on function calls.told_of from public;

-- The jobs that work on calls: a flow of four, of which the last is the flow itself.
create view calls.stages with (security_invoker = true) as
  select j.id, c.id as call_id, c.org_id, j.kind as stage, j.state, j.attempt, j.max_attempts, j.snoozes, j.args, j.output,
         coalesce((j.progress->>'percent')::double precision, 0) as percent, j.progress->>'message' as message,
         t.last_error, t.worker, j.created_at, j.run_at, j.started_at, j.finished_at
    from calls.calls as c
   cross join lateral (
     select * from penstock.my_jobs where parent = c.job_id
     union all
     select * from penstock.my_jobs where id = c.job_id
   ) as j
    left join lateral calls.told_of(j.id) as t on true;

-- The same in the columns that the recipe's document has for them.
create view calls.processing_jobs with (security_invoker = true) as
  select s.id, s.org_id, s.call_id, s.stage,
         case s.state
           when 'running' then 'processing'
           when 'succeeded' then 'done'
           when 'failed' then 'failed'
           when 'cancelled' then 'failed'
           else 'queued'
         end as status,
         (s.args - 'org_id' - 'call_id') || case s.stage
           when 'transcribe_poll' then coalesce(
             (select o.output from calls.stages as o where o.call_id = s.call_id and o.stage = 'transcribe_start'), '{}')
           else '{}'
         end as payload,
         -- attempts that have failed; penstock counts the present one too
         s.attempt - (s.state in ('running', 'succeeded'))::int as attempts,
         s.max_attempts,
         s.run_at as available_at,
         s.started_at as locked_at,
         s.worker as locked_by,
         s.last_error,
         s.created_at,
         coalesce(s.finished_at, s.started_at, s.created_at) as updated_at
    from calls.stages as s;

do $$
begin
  if exists (select from pg_roles where rolname = 'authenticated') then
    grant usage on schema calls to authenticated;
    grant select (id, org_id, user_id, file_name, content_type, size, seconds, job_id, tries, created_at)
       on calls.calls to authenticated;
    grant select on calls.artifacts, calls.stages, calls.processing_jobs to authenticated;
    grant execute on function calls.told_of to authenticated;
  end if;
  if exists (select from pg_roles where rolname = 'service_role') then
    grant usage on schema calls to service_role;
    grant all on all tables in schema calls to service_role;
    grant execute on function calls.told_of to service_role;
    create policy the_service_does_everything on calls.calls to service_role using (true) with check (true);
    create policy the_service_does_everything on calls.artifacts to service_role using (true) with check (true);
  end if;
end
$$;

-- Nobody's thousand recordings keep another organisation waiting.
select penstock.set_queue('calls', '{"fair_by": "org"}');
select penstock.set_queue('calls_audio', '{"fair_by": "org"}');
