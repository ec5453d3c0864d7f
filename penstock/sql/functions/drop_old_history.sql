-- Drops the partitions of history whose jobs all finished longer ago than history is kept, then what belonged to them.
-- A partition with a late finisher stays until that one is old too. Returns how many were dropped.
-- With its owner's rights, as tables need: whoever may call it need not own them.
create or replace function penstock.drop_old_history()
returns int
language plpgsql security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  v_cutoff timestamptz := penstock.clock() - (select history_kept from penstock.settings);
  v_floor uuid := penstock.uuid7_floor(v_cutoff);
  v_partition record;
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
    if v_partition.upper <= v_floor and penstock.drop_partition(v_partition.name, v_cutoff) then
      v_dropped := v_dropped + 1;
    end if;
  end loop;
  delete from penstock.history_strays where finished_at < v_cutoff;
  delete from penstock.edges as e
   where e.job < v_floor and not exists (select from penstock.all_jobs as j where j.id = e.job);
  delete from penstock.steps as s
   where s.job < v_floor and not exists (select from penstock.all_jobs as j where j.id = s.job);
  return v_dropped;
end
$$;
