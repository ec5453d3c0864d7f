-- Drops the oldest partition of history whose jobs all finished longer ago than history is kept, and what is beside them. A partition
-- with a late finisher stays until that one is old too, and what belongs to a job that is still alive is kept as long as that is.
-- What belonged to those that are gone goes before: whoever reads history waits from the drop on until the caller commits.
-- Returns how many were dropped.
-- With its owner's rights, as tables need: whoever may call it need not own them.
create or replace function penstock.drop_old_history()
returns int
language plpgsql security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  v_cutoff timestamptz := penstock.clock() - (select history_kept from penstock.settings);
  v_floor uuid := penstock.uuid7_floor(v_cutoff);
  v_partition regclass;
  v_dropped int := 0;
begin
  perform penstock.forget_old(v_cutoff);
  for v_partition in select name from penstock.partitions_of('penstock.history') where past <= v_floor order by lowest loop
    if penstock.drop_partition(v_partition, v_cutoff) then
      v_dropped := 1;
      exit;
    end if;
  end loop;
  -- those beside it, and those that somebody read when history's went
  perform penstock.drop_beside(beside.parent, beside.name, beside.lowest, beside.past)
     from (select parent, p.*
             from unnest(array['penstock.payloads', 'penstock.errors']::regclass[]) as parent, penstock.partitions_of(parent) as p
            where p.past <= v_floor) as beside
    where not exists (
      select from penstock.partitions_of('penstock.history') as h where h.lowest < beside.past and h.past > beside.lowest);
  return v_dropped;
end
$$;
