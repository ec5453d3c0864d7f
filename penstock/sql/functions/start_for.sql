-- Enqueues jobs, a flow for instance, on a user's behalf and against their quota: for code that is trusted to compose them.
-- The first carries the quota's name, by which it counts as unfinished, and again when it is retried.
create or replace function penstock.start_for(p_owner text, p_quota text, p_jobs jsonb)
returns table (id uuid, created boolean)
language plpgsql
as $$
begin
  if p_quota is not null then
    p_jobs := jsonb_set(p_jobs, '{0,options}', coalesce(nullif(p_jobs->0->'options', 'null'), '{}') || jsonb_build_object('quota', p_quota));
  end if;
  return query select e.id, e.created from penstock.enqueue_jobs(p_jobs) as e;
  if p_quota is not null and exists (select from penstock.jobs as j where j.id = (p_jobs->0->>'id')::uuid) then
    perform penstock.take_quota(p_owner, p_quota, 1);
  end if;
end
$$;
