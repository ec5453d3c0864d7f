-- Whether there was one. Jobs it has made stay.
create or replace function penstock.remove_schedule(p_name text)
returns boolean
language plpgsql
as $$
begin
  delete from penstock.schedules where name = p_name;
  return found;
end
$$;
