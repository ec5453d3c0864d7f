-- A job by its id, if the caller may see it. See get_job for the settings.
create or replace function penstock.get_my_job(p_id uuid)
returns setof penstock.my_jobs
language plpgsql stable
set plan_cache_mode = force_generic_plan
set enable_seqscan = off
set enable_bitmapscan = off
set jit = off
as $$
begin
  return query select * from penstock.my_jobs where id = p_id;
end
$$;
