-- Drops the partitions of history whose jobs all finished longer ago than history is kept, then what belonged to them.
-- A partition with a late finisher stays until that one is old too, and what belongs to a job that is still alive is kept as long as
-- that is. Returns how many were dropped.
-- With its owner's rights, as tables need: whoever may call it need not own them.
create or replace function penstock.drop_old_history()
returns int
language plpgsql security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  v_cutoff timestamptz := penstock.clock() - (select history_kept from penstock.settings);
  v_floor uuid := penstock.uuid7_floor(v_cutoff);
  v_gone uuid[];
  v_dropped int;
begin
  select count(*) filter (where penstock.drop_partition(name, v_cutoff))
    into v_dropped
    from penstock.partitions_of('penstock.history')
   where past <= v_floor;
  -- those beside it, and those that somebody read when history's went
  perform penstock.drop_beside(beside.parent, beside.name, beside.lowest, beside.past)
     from (select parent, p.*
             from unnest(array['penstock.payloads', 'penstock.errors']::regclass[]) as parent, penstock.partitions_of(parent) as p
            where p.past <= v_floor) as beside
    where not exists (
      select from penstock.partitions_of('penstock.history') as h where h.lowest < beside.past and h.past > beside.lowest);
  with gone as (
    delete from penstock.history_strays as h
     where h.finished_at < v_cutoff and not exists (select from penstock.jobs as j where j.id = h.parent)
    returning h.id
  )
  select array_agg(id) into v_gone from gone;
  if v_gone is not null then
    perform penstock.forget(v_gone);
  end if;
  delete from penstock.edges as e
   where e.job < v_floor and not exists (select from penstock.all_jobs as j where j.id = e.job);
  with gone as (
    delete from penstock.steps as s
     where s.job < v_floor and not exists (select from penstock.all_jobs as j where j.id = s.job)
    returning s.job, s.kind
  )
  -- what was called back with, and never asked for
  delete from penstock.events as e using gone as g where g.kind = 'callback' and e.key = g.job::text;
  delete from penstock.waits as w
   where w.job < v_floor and not exists (select from penstock.jobs as j where j.id = w.job);
  return v_dropped;
end
$$;
