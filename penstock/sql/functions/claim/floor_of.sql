-- The floor of a queue: below its marks nothing is ready. The newest row comes first in its index, so that the dead ones
-- before it are never met. Nulls where there is none yet.
create or replace function penstock.floor_of(p_queue text)
returns penstock.floors
language plpgsql stable
set enable_seqscan = off
set enable_bitmapscan = off
as $$
declare
  v_floor penstock.floors;
begin
  select * into v_floor from penstock.floors where queue = p_queue order by number desc limit 1;
  return v_floor;
end
$$;
