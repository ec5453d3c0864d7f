-- The newest of time_floors, see raise_time_floor(). Where there is none yet, it is before all times, and so it is while the clock is
-- behind the moment it was raised: what began since then may be below it. A standby has none: it cannot read what is unlogged.
create or replace function penstock.time_floor()
returns penstock.time_floors
language plpgsql stable
set enable_seqscan = off
set enable_bitmapscan = off
as $$
declare
  v_floor penstock.time_floors;
begin
  if not pg_is_in_recovery() then
    select * into v_floor from penstock.time_floors order by number desc limit 1;
  end if;
  if not found or v_floor.raised_at > penstock.clock() then
    v_floor.due_since := '-infinity';
    v_floor.started_since := '-infinity';
    v_floor.waiting_since := coalesce(v_floor.waiting_since, 0);
    v_floor.started_before := '{}';
    v_floor.started_by := '{}';
  end if;
  return v_floor;
end
$$;
