-- Whether one of a job's attempts failed with this in its error, in capital letters or not. See payload_of for the settings.
create or replace function penstock.error_says(p_id uuid, p_text text)
returns boolean
language plpgsql stable
set plan_cache_mode = force_generic_plan
set enable_seqscan = off
set enable_bitmapscan = off
set jit = off
as $$
begin
  return exists (
    select from penstock.errors as e where e.id = p_id and position(lower(p_text) in lower(e.error->>'error')) > 0);
end
$$;
