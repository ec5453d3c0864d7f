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

-- the selects make them constants of the plan: a policy is asked for every row
create policy users_see_their_own on penstock.jobs for select
  using (owner = (select penstock.caller()) or org = any((select penstock.caller_orgs())::text[]));
create policy users_see_their_own on penstock.history for select
  using (owner = (select penstock.caller()) or org = any((select penstock.caller_orgs())::text[]));
create policy users_see_their_own on penstock.payloads for select
  using (owner = (select penstock.caller()) or org = any((select penstock.caller_orgs())::text[]));

-- What users see of jobs: not their errors, which hold tracebacks, nor what only workers need.
create view penstock.my_jobs with (security_invoker = true) as
  select id, queue, kind, state, priority, attempt, max_attempts, snoozes, waiting_on, parent, owner, org, phase, weight,
         cancel_requested, coalesce(args, penstock.payload_of(id)) as args, progress, rollup, output,
         case when state in ('failed', 'cancelled') then penstock.shown_error(id) end as error,
         created_at, run_at, started_at, finished_at
    from (
      select id, queue, kind, state, priority, attempt, max_attempts, snoozes, waiting_on, parent, owner, org, phase, weight,
             cancel_requested, args, progress, rollup, null::jsonb as output,
             created_at, run_at, started_at, null::timestamptz as finished_at
        from penstock.jobs
      union all
      select id, queue, kind, state, priority, attempt, max_attempts, snoozes, 0, parent, owner, org, phase, weight,
             false, args, progress, rollup, output,
             created_at, run_at, started_at, finished_at
        from penstock.history) as found;
