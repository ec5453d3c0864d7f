-- A user starts several jobs as one: p_jobs is an array of {"kind": ..., "args": ...}. The first row is the batch, the others
-- its jobs in their order; of a batch whose idempotency key was used before, those of its jobs that are still known. It goes
-- on when one of them fails, and reports what succeeded.
create or replace function penstock.start_batch(
  p_jobs jsonb, p_org text default null, p_idempotency_key text default null
)
returns table (id uuid, created boolean)
language plpgsql security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  v_caller text := penstock.caller_or_refuse(p_org);
  v_size int := case when jsonb_typeof(p_jobs) = 'array' then jsonb_array_length(p_jobs) else 0 end;
  v_ids uuid[];
  v_batch jsonb;
  v_quota text;
  v_jobs int;
begin
  if v_size = 0 then
    raise exception 'jobs: must be a JSON array of at least one job' using errcode = 'PS001';
  elsif v_size > 1000 then
    raise exception 'jobs: at most 1000 in one batch, not %', v_size using errcode = 'PS001';
  end if;
  v_ids := array(select penstock.uuid7() from generate_series(1, v_size + 1));
  v_ids := array(select each from unnest(v_ids) as each order by each);
  v_batch := penstock.batch_of(v_ids[v_size + 1], p_jobs) || jsonb_strip_nulls(jsonb_build_object(
    'owner', v_caller, 'org', p_org, 'idempotency_key', p_idempotency_key, 'key_of_user', true))
    || jsonb_build_object('fingerprint', jsonb_build_array('batch', p_jobs, p_org));
  select v_batch_and_jobs.jobs
    into v_batch
    from (select jsonb_build_array(v_batch) || jsonb_agg(
                   penstock.job_of_user(job->>'kind', job->'args', v_caller, p_org) - 'unique_key'
                   || jsonb_build_object('id', v_ids[place], 'parent', v_ids[v_size + 1], 'weight', 1)
                   order by place) as jobs
            from jsonb_array_elements(p_jobs) with ordinality as given (job, place)) as v_batch_and_jobs;
  select e.id, e.created
    into id, created
    from penstock.enqueue_jobs(v_batch) with ordinality as e (id, created, place)
   order by e.place
   limit 1;
  return next;
  if not created then
    -- what it was when its key was first used, as far as history still knows
    return query select j.id, false from penstock.all_jobs as j where j.parent = start_batch.id order by j.id;
    return;
  end if;
  return query select each, true from unnest(v_ids[:v_size]) as each;
  for v_quota, v_jobs in
    select k.quota, count(*)
      from jsonb_array_elements(p_jobs) as job
      join penstock.kinds as k on k.kind = job->>'kind'
     where k.quota is not null
     group by k.quota
     order by k.quota
  loop
    perform penstock.take_quota(v_caller, v_quota, v_jobs);
  end loop;
end
$$;
