-- Nothing of the schedule is fired until resume_schedule().
create or replace function penstock.pause_schedule(p_name text)
returns void
language plpgsql
as $$
begin
  update penstock.schedules set paused = true, next_tick = null where name = p_name;
  if not found then
    raise exception 'name: there is no schedule %', p_name using errcode = 'PS001';
  end if;
end
$$;
