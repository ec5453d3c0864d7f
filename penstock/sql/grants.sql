-- Who may do what. Runs after the functions, whenever they or this file change, so that nothing is open just because
-- Postgres opens it by default. The login that migrates owns everything; service_role may do everything; authenticated reads
-- its own rows and calls a handful of functions; anon may do nothing.

revoke all on all functions in schema {schema} from public;

-- No function, operator or type of another schema is taken for Postgres's own, whatever the caller's search_path: a better
-- fitting overload would be, even behind pg_catalog. Functions whose body was parsed when they were made (return ..., begin
-- atomic ...) need nothing. Of the hot ones two are left alone, because it costs 2 to 6 us a call: enqueue_plain, which names
-- the schema of what it calls, and those that only functions call that have it set.
do $$
declare
  v_function record;
begin
  for v_function in
    select p.oid::regprocedure as signature
      from pg_proc as p
     where p.pronamespace = (select relnamespace from pg_class where oid = 'penstock.jobs'::regclass)
       and p.prosqlbody is null
       and p.proname <> all('{enqueue_plain,
                              pick_ready,pick_limited,finish,settle,tell_it_runs,try_lock,lock,lock_limits,lock_flows,
                              advance_turn,new_job,enqueue_one}'::text[])
  loop
    execute format('alter function %s set search_path = pg_catalog, pg_temp', v_function.signature);
  end loop;
end
$$;

do $$
declare
  v_table record;
begin
  for v_table in
    select c.oid::regclass as name, c.relrowsecurity as protected
      from pg_class as c
     where c.relnamespace = (select relnamespace from pg_class where oid = 'penstock.jobs'::regclass)
       and c.relkind in ('r', 'p')
  loop
    if not v_table.protected then
      execute format('alter table %s enable row level security', v_table.name);
    end if;
  end loop;
end
$$;

do $$
declare
  v_table record;
begin
  if not exists (select from pg_roles where rolname = 'service_role') then
    return;
  end if;
  grant usage on schema {schema} to service_role;
  grant all on all tables in schema {schema} to service_role;
  grant all on all sequences in schema {schema} to service_role;
  grant execute on all functions in schema {schema} to service_role;
  for v_table in
    select c.oid::regclass as name
      from pg_class as c
     where c.relnamespace = (select relnamespace from pg_class where oid = 'penstock.jobs'::regclass)
       and c.relkind in ('r', 'p') and not c.relispartition
       and not exists (select from pg_policy as p where p.polrelid = c.oid and p.polname = 'the_service_does_everything')
  loop
    execute format('create policy the_service_does_everything on %s to service_role using (true) with check (true)',
                   v_table.name);
  end loop;
end
$$;

do $$
begin
  if not exists (select from pg_roles where rolname = 'authenticated') then
    return;
  end if;
  grant usage on schema {schema} to authenticated;
  grant select (id, queue, kind, state, priority, attempt, max_attempts, snoozes, waiting_on, parent, owner, org, phase, weight,
                cancel_requested, args, progress, rollup, created_at, run_at, started_at)
     on penstock.jobs to authenticated;
  grant select (id, queue, kind, state, priority, attempt, max_attempts, snoozes, parent, owner, org, phase, weight, args,
                progress, rollup, output, created_at, run_at, started_at, finished_at)
     on penstock.history to authenticated;
  grant select on penstock.payloads, penstock.artifacts to authenticated;
  grant select on penstock.my_jobs, penstock.artifacts_view, penstock.usage, penstock.usage_log, penstock.usage_so_far to authenticated;
  grant execute on function
    penstock.caller, penstock.caller_orgs, penstock.is_callers, penstock.shown_error, penstock.payload_of,
    penstock.payload_text, penstock.as_array, penstock.filter_text, penstock.uuid7_floor, penstock.uuid_of_prefix, penstock.get_my_job, penstock.list_my_jobs, penstock.job_tree,
    penstock.artifacts_of_job, penstock.artifacts_shown, penstock.start,
    penstock.start_batch, penstock.cancel_mine, penstock.retry_mine, penstock.approve_mine,
    penstock.asked_of_mine
     to authenticated;
end
$$;

-- What programs may expect: see penstock/sql/contract.py.
comment on schema {schema} is '{contract}';
