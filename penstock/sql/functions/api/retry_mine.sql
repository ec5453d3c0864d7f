-- A user brings a job of theirs back that failed or was cancelled. Whatever comes back with it counts as another operation:
-- of a batch each job, of a flow the flow. Null when there is none such, false when it is neither.
create or replace function penstock.retry_mine(p_id uuid)
returns boolean
language plpgsql security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  v_revived uuid[];
  v_quota text;
  v_jobs int;
begin
  perform from penstock.get_job(p_id) as j where penstock.is_callers(j.owner, j.org);
  if not found then
    return null;
  end if;
  v_revived := penstock.retry(array[p_id]);
  for v_quota, v_jobs in
    select coalesce(j.options->>'quota', k.quota) as quota, count(*)
      from penstock.jobs as j
      left join penstock.kinds as k on k.kind = j.kind
     where j.id = any(v_revived) and coalesce(j.options->>'quota', k.quota) is not null
     group by 1
     order by 1
  loop
    perform penstock.take_quota(penstock.caller(), v_quota, v_jobs);
  end loop;
  return cardinality(v_revived) > 0;
end
$$;
