-- Drops a partition of history unless one of its jobs finished after p_cutoff. What jobs that are still alive have called, have below
-- them, or came after, moves to the strays: they ask again what came of it. False when it stays: for a late finisher, for more of those
-- than are moved in a moment, or because somebody reads it at length (pg_dump, a report). Waits for nobody: while it waits for its
-- lock, everybody who finishes a job waits behind it. What takes long comes before that lock.
create or replace function penstock.drop_partition(p_partition regclass, p_cutoff timestamptz)
returns boolean
language plpgsql
set lock_timeout = '200ms'
as $$
declare
  v_most constant int := 10000;
  v_bounds record;
  v_late boolean;
  v_left uuid[];
begin
  select lowest, past into v_bounds from penstock.partitions_of('penstock.history') where name = p_partition;
  for v_look in 1..2 loop
    if v_look = 2 then
      -- from here on nobody finishes or retries a job of it, and everybody may read
      execute format('lock table %s in share mode', p_partition);
    end if;
    execute format('select exists (select from %s where finished_at > $1)', p_partition) into v_late using p_cutoff;
    if v_late then
      return false;
    end if;
    execute format(
      'select array(
         select h.id from %1$s as h
          where h.parent is not null and exists (select from penstock.jobs as j where j.id = h.parent)
          union
         select h.id from penstock.edges as e join penstock.jobs as j on j.id = e.job join %1$s as h on h.id = e.waits_for
          where e.waits_for >= $1 and e.waits_for < $2
          limit $3)', p_partition)
      into v_left using v_bounds.lowest, v_bounds.past, v_most + 1;
    if cardinality(v_left) > v_most then
      return false;
    end if;
  end loop;
  lock table only penstock.history in access exclusive mode;
  if cardinality(v_left) > 0 then
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
