-- Files that jobs have made: a path in the store, never the bytes. In parts as job_tasks is: those of a job's tasks are found by
-- its tasks.
create or replace view public.job_artifacts with (security_invoker = true) as
  select a.id, t.job_id, a.job as task_id, a.owner as user_id, coalesce(a.type, a.content_type) as artifact_type,
         a.path as storage_path, a.metadata->>'public_url' as public_url, a.content_type, a.size as file_size_bytes,
         a.duration as duration_seconds, a.created_at
    from (
      select id, parent as job_id from penstock.jobs where parent is not null
      union all
      select id, parent from penstock.history where parent is not null
      union all
      select id, id from penstock.jobs where parent is null
      union all
      select id, id from penstock.history where parent is null) as t
    join penstock.artifacts as a on a.job = t.id
   where a.state = 'stored';

-- A worker tells of a file that it has stored itself, while it has the task.
create or replace function penstock.insert_artifact()
returns trigger
language plpgsql
set search_path = pg_catalog, pg_temp
set enable_seqscan = off
as $$
declare
  v_task record;
  v_id uuid := penstock.uuid7();
  v_of text := case when new.artifact_type like '%mp3' then 'audio/mpeg' when new.artifact_type like '%m4a' then 'audio/mp4'
                    when new.artifact_type like '%pdf' then 'application/pdf' when new.artifact_type like '%json' then 'application/json'
                    else 'application/octet-stream' end;
begin
  if coalesce(new.storage_path, '') = '' then
    raise exception 'storage_path: must not be empty' using errcode = '22023';
  elsif new.file_size_bytes is null or new.file_size_bytes < 0 then
    raise exception 'file_size_bytes: must say how large the file is' using errcode = '22023';
  end if;
  select j.id, j.lease, j.claims, j.parent into v_task
    from penstock.jobs as j
   where j.id = coalesce(new.task_id, new.job_id) and j.state = 'running';
  if not found or new.job_id not in (v_task.id, v_task.parent) then
    raise exception 'task_id: % is no task of this job that somebody has claimed', coalesce(new.task_id, new.job_id)
      using errcode = '22023';
  end if;
  select b.id into v_id
    from penstock.begin_artifact(
      v_task.lease, v_task.id, v_task.claims, v_id, regexp_replace(new.storage_path, '^.*/', ''), new.storage_path,
      coalesce(new.content_type, v_of), new.artifact_type, new.duration_seconds,
      case when new.public_url is not null then jsonb_build_object('public_url', new.public_url) end, null, false) as b;
  -- the bytes were not seen here: this is no digest of theirs, but another one each time
  perform penstock.store_artifact(
    v_task.lease, v_task.id, v_task.claims, v_id, new.file_size_bytes, 'unseen:' || gen_random_uuid()::text);
  select * into new from public.job_artifacts where id = v_id;
  return new;
end
$$;
create or replace trigger insert_artifact instead of insert on public.job_artifacts
  for each row execute function penstock.insert_artifact();
