-- The lease and the claim by which a worker holds a task; no row when it does not.
create or replace function penstock.task_claim(p_task_id uuid, p_worker_id text)
returns table (lease bigint, claims int, cancel_requested boolean)
language sql stable
set search_path = pg_catalog, pg_temp
set enable_seqscan = off
as $$
  select j.lease, j.claims, j.cancel_requested
    from penstock.jobs as j
    join penstock.leases as l on l.id = j.lease
   where j.id = p_task_id and l.worker = p_worker_id
$$;
