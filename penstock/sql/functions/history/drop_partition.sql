-- Drops a partition of history unless one of its jobs finished after p_cutoff. False when it stays: for a late
-- finisher, or because somebody reads it at length (pg_dump, a report). Waits for nobody: while it waits for its lock,
-- everybody who finishes a job waits behind it.
create or replace function penstock.drop_partition(p_partition regclass, p_cutoff timestamptz)
returns boolean
language plpgsql
set lock_timeout = '200ms'
as $$
declare
  v_look text := format('select exists (select from %s where finished_at > $1)', p_partition);
  v_late boolean;
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
  execute format('drop table %s', p_partition);
  return true;
exception when lock_not_available then
  return false;
end
$$;
