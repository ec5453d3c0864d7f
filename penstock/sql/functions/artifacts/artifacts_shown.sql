-- What a job has stored, as JSON, with everything below it when it is a flow; null when there is nothing. For users, what is
-- theirs.
create or replace function penstock.artifacts_shown(p_job uuid, p_flow boolean)
returns json
language plpgsql stable
set plan_cache_mode = force_generic_plan
set enable_seqscan = off
set jit = off
as $$
begin
  if p_flow then
    return (select json_agg(row_to_json(a)) from penstock.artifacts_of_job(p_job) as a);
  end if;
  return (select json_agg(row_to_json(a) order by a.id) from penstock.artifacts as a where a.job = p_job and a.state = 'stored');
end
$$;
