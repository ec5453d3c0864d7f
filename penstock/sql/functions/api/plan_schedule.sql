-- Sets a schedule's next tick when it has none, or passes over ticks that are not to be caught up.
create or replace function penstock.plan_schedule(p_name text, p_next timestamptz)
returns void
language sql
as $$
  update penstock.schedules
     set next_tick = p_next
   where name = p_name and not paused and (next_tick is null or next_tick < p_next)
$$;
