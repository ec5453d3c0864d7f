-- The floor of a queue's line: below its marks nothing is ready. The newest row comes first in its index, so that the dead ones
-- before it are never met. Nulls where there is none yet.
create or replace function penstock.floor_of(p_queue text, p_line int default 0)
returns penstock.floors
language plpgsql stable
set enable_seqscan = off
set enable_bitmapscan = off
as $$
declare
  v_floor penstock.floors;
begin
  select * into v_floor from penstock.floors where queue = p_queue and line = p_line order by number desc limit 1;
  return v_floor;
end
$$;
