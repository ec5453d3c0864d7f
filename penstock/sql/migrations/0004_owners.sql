-- Whose jobs they are, for Postgres to decide: row level security by owner and by organisation. A request of a user runs
-- under the role that its token names, with the token's claims in request.jwt.claims, as behind Supabase's gateway.
-- grants.sql says who may do what; it runs after the functions, each time they change.

-- Supabase has these roles; elsewhere they are made, where this login may make roles. Without them there is the engine, but
-- no requests of users.
do $$
declare
  v_role text;
  -- since Postgres 16 whoever creates a role is a member that may not act as it
  v_needed text := case when current_setting('server_version_num')::int >= 160000 then 'set' else 'member' end;
begin
  foreach v_role in array '{anon,authenticated,service_role}'::text[] loop
    if not exists (select from pg_roles where rolname = v_role) then
      begin
        execute format('create role %I nologin noinherit', v_role);
      exception
        when duplicate_object or unique_violation then
          null; -- another database of this server is being migrated
        when insufficient_privilege then
          raise notice 'role % is missing and % may not create it: requests of users will be refused', v_role, current_user;
      end;
    end if;
    begin
      if exists (select from pg_roles where rolname = v_role) and not pg_has_role(v_role, v_needed) then
        execute format('grant %I to %I', v_role, current_user);
      end if;
    exception
      when unique_violation then
        null; -- as above
      when insufficient_privilege then
        raise notice '% may not act as %: requests of users will be refused', current_user, v_role;
    end;
  end loop;
end
$$;

-- policies name these, so they come before their files
create function penstock.caller() returns text language sql stable as 'select null::text';
create function penstock.caller_orgs() returns text[] language sql stable as 'select null::text[]';
create function penstock.shown_error(p_id uuid) returns text language sql stable as 'select null::text';

create index jobs_org on penstock.jobs (org, id) where org is not null;
create index history_org on penstock.history (org, id) where org is not null;

-- the selects make them constants of the plan: a policy is asked for every row
create policy users_see_their_own on penstock.jobs for select
  using (owner = (select penstock.caller()) or org = any((select penstock.caller_orgs())::text[]));
create policy users_see_their_own on penstock.history for select
  using (owner = (select penstock.caller()) or org = any((select penstock.caller_orgs())::text[]));
create policy users_see_their_organisations on penstock.usage for select
  using (org = any((select penstock.caller_orgs())::text[]));
create policy users_see_their_organisations on penstock.usage_log for select
  using (org = any((select penstock.caller_orgs())::text[]));

-- What users see of jobs: not their errors, which hold tracebacks, nor what only workers need.
create view penstock.my_jobs with (security_invoker = true) as
  select id, queue, kind, state, priority, attempt, max_attempts, snoozes, waiting_on, parent, owner, org, phase, weight,
         cancel_requested, args, progress, rollup, null::jsonb as output, null::text as error,
         created_at, run_at, started_at, null::timestamptz as finished_at
    from penstock.jobs
  union all
  select id, queue, kind, state, priority, attempt, max_attempts, snoozes, 0, parent, owner, org, phase, weight,
         false, args, progress, rollup, output, case when state <> 'succeeded' then penstock.shown_error(id) end,
         created_at, run_at, started_at, finished_at
    from penstock.history;

-- What users may start by themselves, and how such jobs are enqueued.
create table penstock.kinds (
  kind text constraint kinds_pkey primary key,
  template jsonb not null,
  is_unique boolean not null default false,
  quota text
);
comment on column penstock.kinds.template is
  'The fields of a job that its starter does not choose: queue, priority, max_attempts, options…';
comment on column penstock.kinds.is_unique is
  'While a job of the same owner with the same arguments is unfinished, it stands for further ones.';

-- How much one user may do; null is no limit.
create table penstock.quotas (
  name text constraint quotas_pkey primary key,
  per_day int,
  running int,
  unfinished int,
  storage bigint,
  constraint per_day_is_not_negative check (per_day >= 0),
  constraint running_is_positive check (running > 0),
  constraint unfinished_is_positive check (unfinished > 0),
  constraint storage_is_not_negative check (storage >= 0)
);

create table penstock.operations (
  owner text not null,
  quota text not null,
  day date not null,
  used int not null,
  constraint operations_pkey primary key (owner, quota, day)
) with (fillfactor = 50);
