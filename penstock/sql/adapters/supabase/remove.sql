drop view public.jobs, public.job_tasks, public.job_artifacts cascade;
drop function if exists
  public.claim_tasks, public.heartbeat_task, public.complete_task, public.fail_task, public.reclaim_stale_tasks,
  penstock.is_service, penstock.task_error, penstock.task_worker, penstock.task_claim, penstock.open_job, penstock.add_task,
  penstock.insert_job, penstock.insert_task, penstock.insert_artifact;

-- what was made here, and nothing of Supabase's
do $$
declare
  v_name text;
begin
  foreach v_name in array '{auth.jwt(),auth.uid(),auth.role()}'::text[] loop
    if obj_description(to_regprocedure(v_name), 'pg_proc') = 'Made by Penstock.' then
      execute 'drop function ' || v_name;
    end if;
  end loop;
  if obj_description(to_regnamespace('auth'), 'pg_namespace') like 'Made by Penstock%'
     and not exists (select from pg_proc where pronamespace = to_regnamespace('auth'))
     and not exists (select from pg_class where relnamespace = to_regnamespace('auth')) then
    drop schema auth;
  end if;
end
$$;
