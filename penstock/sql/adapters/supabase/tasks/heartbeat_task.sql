-- Keeps a task for another while. False when it is no longer this worker's, or somebody wants it stopped: leave it.
create or replace function public.heartbeat_task(p_task_id uuid, p_worker_id text)
returns boolean
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
declare
  v_claim record;
begin
  select * into v_claim from penstock.task_claim(p_task_id, p_worker_id);
  return found and not v_claim.cancel_requested and (select h.alive from penstock.heartbeat(v_claim.lease) as h);
end
$$;
