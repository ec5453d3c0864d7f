-- The path of an artifact that is being removed, its row held until the end of the transaction: nobody else removes the
-- file, or writes it anew, meanwhile. Null when it is not, or somebody else is at it.
create or replace function penstock.hold_removed(p_id uuid)
returns text
language sql
as $$
  select path from penstock.artifacts where id = p_id and state = 'removing' for update skip locked
$$;
