-- Who may do what. As the engine: the login that migrates owns it all, service_role may use it all, nobody else anything;
-- pg_monitor may look, as pgmq lets it. Users of an application may call what pgmq_public has, as at Supabase, and are refused
-- by what that calls, as they are there until somebody grants them a queue.
revoke all on all functions in schema pgmq, pgmq_public from public;

do $$
declare
  v_function record;
begin
  for v_function in
    select p.oid::regprocedure as signature
      from pg_proc as p
     where p.pronamespace in ('pgmq'::regnamespace, 'pgmq_public'::regnamespace) and p.prosqlbody is null
  loop
    execute format('alter function %s set search_path = pg_catalog, pg_temp', v_function.signature);
  end loop;
end
$$;

grant usage on schema pgmq to pg_monitor;
grant select on all tables in schema pgmq to pg_monitor;
-- a view has its owner's rights to tables, not to functions
grant execute on function pgmq._first_id, pgmq._last_id, pgmq._msg_id, pgmq._body to pg_monitor;

do $$
declare
  v_role text;
begin
  foreach v_role in array '{anon,authenticated,service_role}'::text[] loop
    continue when not exists (select from pg_roles where rolname = v_role);
    execute format('grant usage on schema pgmq_public to %I', v_role);
    execute format('grant execute on all functions in schema pgmq_public to %I', v_role);
  end loop;
  if exists (select from pg_roles where rolname = 'service_role') then
    grant usage on schema pgmq to service_role;
    grant select, insert, update, delete on all tables in schema pgmq to service_role;
    grant usage, select on all sequences in schema pgmq to service_role;
    grant execute on all functions in schema pgmq to service_role;
  end if;
end
$$;
