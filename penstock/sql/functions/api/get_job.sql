-- A job by its id, live or finished. The plan is made once and prunes history's partitions as it runs: planning it anew
-- for each id, as Postgres would choose to, takes ten times as long as running it.
create or replace function penstock.get_job(p_id uuid)
returns setof penstock.all_jobs
language plpgsql stable
set plan_cache_mode = force_generic_plan
set enable_seqscan = off
set enable_bitmapscan = off
set jit = off
as $$
begin
  return query select * from penstock.all_jobs where id = p_id;
end
$$;
