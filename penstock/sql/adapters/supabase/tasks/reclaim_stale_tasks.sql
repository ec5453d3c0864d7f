-- Gives tasks back whose workers were not heard of in time, and returns how many: for pg_cron, where no worker of ours does so.
create or replace function public.reclaim_stale_tasks()
returns int
language sql
set search_path = pg_catalog, pg_temp
as $$
  select penstock.reclaim()
$$;
