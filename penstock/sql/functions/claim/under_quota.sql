-- Whether a queue may have ready jobs under quotas.
create or replace function penstock.under_quota(p_queue text)
returns boolean
language plpgsql stable
set enable_seqscan = off
set enable_bitmapscan = off
as $$
declare
  v_floor penstock.floors;
begin
  select * into v_floor from penstock.floors where queue = p_queue and line = 1 order by number desc limit 1;
  return cardinality(v_floor.lagging) > 0 or exists (
    select from penstock.ready_past(p_queue, 1, v_floor.priorities, v_floor.turns, v_floor.ids));
end
$$;
