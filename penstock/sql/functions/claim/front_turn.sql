-- A place before everybody who waits in line at the same priority, behind those who came to the front earlier: for a job that was
-- served already and lost its worker. Turns below zero are the front's.
create or replace function penstock.front_turn()
returns bigint
language sql
as $$
  select penstock.next_turn() - 4611686018427387904
$$;
