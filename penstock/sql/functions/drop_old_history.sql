-- Drops the partitions of history whose jobs all finished longer ago than history is kept, then what belonged to them.
-- A partition with a late finisher stays until that one is old too. Returns how many were dropped.
create or replace function penstock.drop_old_history()
returns int
language plpgsql
set lock_timeout = '2s'
as $$
declare
  v_cutoff timestamptz := penstock.clock() - (select history_kept from penstock.settings);
  v_floor uuid := penstock.uuid7_floor(v_cutoff);
  v_partition record;
  v_late boolean;
  v_dropped int := 0;
begin
  for v_partition in
    select c.oid::regclass as name,
           (regexp_match(pg_get_expr(c.relpartbound, c.oid), 'TO \(''([^'']+)''\)'))[1]::uuid as upper
      from pg_inherits as i
      join pg_class as c on c.oid = i.inhrelid
     where i.inhparent = 'penstock.history'::regclass
       and pg_get_expr(c.relpartbound, c.oid) <> 'DEFAULT'
  loop
    continue when v_partition.upper > v_floor;
    execute format('select exists (select from %s where finished_at > $1)', v_partition.name) into v_late using v_cutoff;
    continue when v_late;
    begin
      execute format('drop table %s', v_partition.name);
      v_dropped := v_dropped + 1;
    exception when lock_not_available then
      -- somebody reads it at length: next time
      null;
    end;
  end loop;
  delete from penstock.history_strays where finished_at < v_cutoff;
  delete from penstock.edges as e
   where e.job < v_floor and not exists (select from penstock.all_jobs as j where j.id = e.job);
  delete from penstock.steps as s
   where s.job < v_floor and not exists (select from penstock.all_jobs as j where j.id = s.job);
  return v_dropped;
end
$$;
