-- Takes a lock by its name if nobody has it, and holds it until the transaction ends. False also when there is no such lock.
create or replace function penstock.try_lock(p_name text)
returns boolean
language plpgsql
as $$
begin
  perform from penstock.locks where name = p_name for no key update skip locked;
  return found;
end
$$;
