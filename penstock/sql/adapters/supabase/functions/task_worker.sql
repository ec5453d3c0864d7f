-- Who has a task, or had it when it ended, for the service: by claim_tasks() the name is on the job, otherwise its lease tells it.
create or replace function penstock.task_worker(p_id uuid)
returns text
language plpgsql stable
set search_path = pg_catalog, pg_temp
set enable_seqscan = off
as $$
begin
  if not penstock.is_service() then
    return null;
  end if;
  return (
    select coalesce(j.options->>'worker_id', (select l.worker from penstock.leases as l where l.id = j.lease))
      from (select id, options, lease from penstock.jobs where id = p_id
            union all
            select id, options, lease from penstock.history where id = p_id) as j);
end
$$;
