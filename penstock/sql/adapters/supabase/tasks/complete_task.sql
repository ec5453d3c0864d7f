-- A task is done. False when it is no longer this worker's: what another made of it counts.
create or replace function public.complete_task(p_task_id uuid, p_worker_id text, p_output jsonb default null)
returns boolean
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
declare
  v_claim record;
begin
  select * into v_claim from penstock.task_claim(p_task_id, p_worker_id);
  if not found
     or penstock.complete(v_claim.lease, array[p_task_id], array[v_claim.claims], jsonb_build_array(p_output)) <> '{}' then
    return false;
  end if;
  delete from penstock.leases where id = v_claim.lease;
  return true;
end
$$;
