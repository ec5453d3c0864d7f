-- Names that Supabase projects use for a queue of their own, on our engine: views jobs, job_tasks and job_artifacts, and functions
-- for workers, all in the schema public. Refuses a database where one of them is somebody else's.
do $$
declare
  v_taken text;
begin
  select c.relname into v_taken
    from pg_class as c
   where c.relnamespace = 'public'::regnamespace and c.relname in ('jobs', 'job_tasks', 'job_artifacts')
   limit 1;
  if found then
    raise exception 'there is a public.% in this database already: rename it first (alter table public.% rename to ...)', v_taken, v_taken;
  end if;
  select p.proname into v_taken
    from pg_proc as p
   where p.pronamespace = 'public'::regnamespace
     and p.proname in ('claim_tasks', 'heartbeat_task', 'complete_task', 'fail_task', 'reclaim_stale_tasks')
   limit 1;
  if found then
    raise exception 'there is a function public.% in this database already: drop or rename it first', v_taken;
  end if;
end
$$;

-- Who asks, as Supabase's own functions tell it: for policies that name them. Where there are such functions they stay as they are.
do $$
begin
  if not exists (select from pg_namespace where nspname = 'auth') then
    create schema auth;
    comment on schema auth is 'Made by Penstock: there was none of Supabase''s.';
  end if;
  -- the engine's owner may not create in Supabase's
  if not has_schema_privilege('auth', 'create') then
    return;
  end if;
  if to_regprocedure('auth.jwt()') is null then
    create function auth.jwt() returns jsonb language sql stable
      return nullif(current_setting('request.jwt.claims', true), '')::jsonb;
    comment on function auth.jwt() is 'Made by Penstock.';
  end if;
  if to_regprocedure('auth.uid()') is null then
    -- null for a subject that is no UUID, where Supabase's own would fail
    create function auth.uid() returns uuid language sql stable
      return case when nullif(current_setting('request.jwt.claims', true), '')::jsonb->>'sub'
                       ~* '^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$'
                  then (nullif(current_setting('request.jwt.claims', true), '')::jsonb->>'sub')::uuid end;
    comment on function auth.uid() is 'Made by Penstock.';
  end if;
  if to_regprocedure('auth.role()') is null then
    create function auth.role() returns text language sql stable
      return nullif(current_setting('request.jwt.claims', true), '')::jsonb->>'role';
    comment on function auth.role() is 'Made by Penstock.';
  end if;
end
$$;
