-- Why a job did not succeed, or an attempt of it: what was reported for the service, what is meant to be shown for its owner.
create or replace function penstock.task_error(p_id uuid)
returns text
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
begin
  if penstock.is_service() then
    return penstock.errors_of(p_id)->-1->>'error';
  end if;
  return penstock.shown_error(p_id);
end
$$;
