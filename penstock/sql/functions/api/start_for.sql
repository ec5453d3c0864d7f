-- Enqueues jobs, a flow for instance, on a user's behalf and against their quota: for code that is trusted to compose them.
-- The first carries the quota's name, by which it counts as unfinished, and again when it is retried. Without one each job counts
-- against the quota of its kind. p_by_user: the idempotency key is the user's own.
create or replace function penstock.start_for(p_owner text, p_quota text, p_jobs jsonb, p_by_user boolean default false)
returns table (id uuid, created boolean)
language plpgsql
as $$
declare
  v_quota text;
  v_jobs int;
begin
  p_jobs := jsonb_set(p_jobs, '{0,key_of_user}', to_jsonb(p_by_user));
  if p_quota is not null then
    -- whatever runs of it counts
    p_jobs := (
      select jsonb_agg(jsonb_build_object('quota', p_quota) || job order by place)
        from jsonb_array_elements(p_jobs) with ordinality as given (job, place));
    p_jobs := jsonb_set(p_jobs, '{0,options}', coalesce(nullif(p_jobs->0->'options', 'null'), '{}') || jsonb_build_object('quota', p_quota));
  end if;
  return query select e.id, e.created from penstock.enqueue_jobs(p_jobs) as e;
  if p_quota is not null and exists (select from penstock.jobs as j where j.id = (p_jobs->0->>'id')::uuid) then
    perform penstock.take_quota(p_owner, p_quota, 1);
  elsif p_quota is null then
    for v_quota, v_jobs in
      select j.quota, count(*)
        from penstock.jobs as j
       where j.id = any(array(select (job->>'id')::uuid from jsonb_array_elements(p_jobs) as job)) and j.quota is not null
       group by j.quota
       order by j.quota
    loop
      perform penstock.take_quota(p_owner, v_quota, v_jobs);
    end loop;
  end if;
end
$$;
