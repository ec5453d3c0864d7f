-- Waits for a lock by its name and holds it until the transaction ends.
create or replace function penstock.lock(p_name text)
returns void
language plpgsql
as $$
begin
  loop
    perform from penstock.locks where name = p_name for no key update;
    exit when found;
    -- whoever writes the row has the lock; others wait here until that one is done
    insert into penstock.locks (name) values (p_name) on conflict do nothing;
    exit when found;
  end loop;
end
$$;
