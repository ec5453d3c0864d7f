-- Lets a paused schedule go on from p_next, or from wherever the worker that leads finds it; the ticks of the pause were
-- not missed, they were not wanted.
create or replace function penstock.resume_schedule(p_name text, p_next timestamptz default null)
returns void
language plpgsql
as $$
begin
  update penstock.schedules
     set paused = false, next_tick = case when paused then p_next else next_tick end
   where name = p_name;
  if not found then
    raise exception 'name: there is no schedule %', p_name using errcode = 'PS001';
  end if;
end
$$;
