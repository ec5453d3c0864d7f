-- Drops a partition of history unless one of its jobs finished after p_cutoff. What jobs that are still alive have called, or have below
-- them, moves to the strays: a caller asks again what came of it. False when it stays: for a late finisher, or because somebody reads it
-- at length (pg_dump, a report). Waits for nobody: while it waits for its lock, everybody who finishes a job waits behind it.
create or replace function penstock.drop_partition(p_partition regclass, p_cutoff timestamptz)
returns boolean
language plpgsql
set lock_timeout = '200ms'
as $$
declare
  v_look text := format('select exists (select from %s where finished_at > $1)', p_partition);
  v_late boolean;
  v_left uuid[];
begin
  execute v_look into v_late using p_cutoff;
  if v_late then
    return false;
  end if;
  execute format('lock table %s in access exclusive mode', p_partition);
  -- a late finisher may have come in before the lock was had
  execute v_look into v_late using p_cutoff;
  if v_late then
    return false;
  end if;
  execute format(
    'select array_agg(h.id) from %s as h
      where h.parent is not null and exists (select from penstock.jobs as j where j.id = h.parent)', p_partition)
    into v_left;
  if v_left is not null then
    -- the strays take no row of a partition's range while it is there
    execute format('alter table penstock.history detach partition %s', p_partition);
    execute format('insert into penstock.history select * from %s where id = any($1)', p_partition) using v_left;
  end if;
  execute format('drop table %s', p_partition);
  return true;
exception when lock_not_available then
  return false;
end
$$;
