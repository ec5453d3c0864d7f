-- Who may do what. Supabase grants everything in public to everybody by default: all of it is taken back first.
do $$
declare
  v_functions text :=
    'public.claim_tasks, public.heartbeat_task, public.complete_task, public.fail_task, public.reclaim_stale_tasks, '
    'penstock.is_service, penstock.task_error, penstock.task_worker, penstock.task_claim, penstock.open_job, penstock.add_task, '
    'penstock.insert_job, penstock.insert_task, penstock.insert_artifact';
  v_views text := 'public.jobs, public.job_tasks, public.job_artifacts';
  v_role text;
begin
  execute format('revoke all on function %s from public', v_functions);
  execute format('revoke all on %s from public', v_views);
  for v_role in select rolname from pg_roles where rolname in ('anon', 'authenticated', 'service_role') loop
    execute format('revoke all on function %s from %I', v_functions, v_role);
    execute format('revoke all on %s from %I', v_views, v_role);
    if v_role = 'service_role' then
      execute format('grant execute on function %s to %I', v_functions, v_role);
      execute format('grant select, insert on %s to %I', v_views, v_role);
    elsif v_role = 'authenticated' then
      execute format('grant execute on function penstock.is_service, penstock.task_error, penstock.task_worker to %I', v_role);
      execute format('grant select on %s to %I', v_views, v_role);
      execute format('grant insert on public.jobs to %I', v_role);
    end if;
    -- policies call these; Supabase's own are granted already
    if obj_description('auth'::regnamespace, 'pg_namespace') like 'Made by Penstock%' then
      execute format('grant usage on schema auth to %I', v_role);
      execute format('grant execute on function auth.jwt, auth.uid, auth.role to %I', v_role);
    end if;
  end loop;
end
$$;
