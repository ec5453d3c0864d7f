-- A user cancels a job or a whole flow of theirs. Null when there is none such, false when it had ended already.
create or replace function penstock.cancel_mine(p_id uuid)
returns boolean
language plpgsql security definer
set search_path = pg_catalog, pg_temp
as $$
begin
  perform from penstock.get_job(p_id) as j where penstock.is_callers(j.owner, j.org);
  if not found then
    return null;
  end if;
  return cardinality(penstock.cancel(array[p_id], 'cancelled by its owner')) > 0;
end
$$;
