-- Enqueues a schedule's job at once, paused or not, beside its ticks.
create or replace function penstock.run_schedule(p_name text)
returns uuid
language plpgsql
as $$
declare
  v_schedule penstock.schedules;
  v_job uuid;
begin
  select * into v_schedule from penstock.schedules where name = p_name for update;
  if not found then
    raise exception 'name: there is no schedule %', p_name using errcode = 'PS001';
  end if;
  v_job := penstock.enqueue_scheduled(v_schedule);
  update penstock.schedules set last_job = v_job where name = p_name;
  return v_job;
end
$$;
