-- Enqueues the job of one tick and sets the next. However many workers try, whoever comes first does it: the others wait
-- for its commit and get null, as everybody does when the schedule is paused or gone, or its times have changed.
create or replace function penstock.fire_schedule(p_name text, p_tick timestamptz, p_next timestamptz default null)
returns uuid
language plpgsql
as $$
declare
  v_schedule penstock.schedules;
  v_job uuid;
begin
  select *
    into v_schedule
    from penstock.schedules
   where name = p_name and not paused and next_tick <= p_tick and (last_tick is null or last_tick < p_tick)
     for update;
  if not found then
    return null;
  end if;
  v_job := penstock.enqueue_scheduled(v_schedule, p_tick);
  update penstock.schedules set last_tick = p_tick, next_tick = p_next, last_job = v_job where name = p_name;
  return v_job;
end
$$;
