-- The errors of a job's attempts, the first one first. See payload_of for the settings.
create or replace function penstock.errors_of(p_id uuid)
returns jsonb
language plpgsql stable
set plan_cache_mode = force_generic_plan
set enable_seqscan = off
set enable_bitmapscan = off
set jit = off
as $$
begin
  return (select jsonb_agg(e.error order by e.number) from penstock.errors as e where e.id = p_id);
end
$$;
