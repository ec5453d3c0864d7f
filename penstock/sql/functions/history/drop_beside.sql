-- Drops a partition of what is kept beside jobs, after history's own for the same days. What belongs to jobs that are still alive,
-- or among history's strays, moves to the strays. Stays while that is more than is moved in a moment, or when somebody reads it
-- at length, like drop_partition().
create or replace function penstock.drop_beside(p_parent regclass, p_partition regclass, p_lowest uuid, p_past uuid)
returns void
language plpgsql
set lock_timeout = '200ms'
set enable_seqscan = off
as $$
declare
  v_most constant int := 10000;
  v_left uuid[];
begin
  for v_look in 1..2 loop
    if v_look = 2 then
      -- a claim of one has committed before, or comes after
      perform from penstock.jobs where id >= p_lowest and id < p_past order by id for update;
      -- whoever enqueues a job of that age, or fails one, has committed before or comes after
      execute format('lock table only %s, %s in access exclusive mode', p_parent, p_partition);
    end if;
    v_left := array(
      select id from penstock.jobs where id >= p_lowest and id < p_past
      union all
      select id from penstock.history_strays where id >= p_lowest and id < p_past
      limit v_most + 1);
    if cardinality(v_left) > v_most then
      return;
    end if;
  end loop;
  if cardinality(v_left) > 0 then
    -- the strays take no row of a partition's range while it is there
    execute format('alter table %s detach partition %s', p_parent, p_partition);
    execute format('insert into %s select * from %s where id = any($1)', p_parent, p_partition) using v_left;
  end if;
  execute format('drop table %s', p_partition);
exception when lock_not_available then
  null;
end
$$;
