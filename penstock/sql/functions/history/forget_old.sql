-- Deletes strays that finished before p_cutoff, and what belonged to jobs of that age that are gone: a portion of each, the rest
-- the next time. Where history has a partition still, nothing is looked at. Each job is looked up by its id, which reads one
-- partition; a hash of all ids would read every one.
create or replace function penstock.forget_old(p_cutoff timestamptz)
returns void
language plpgsql
set enable_seqscan = off
set enable_hashjoin = off
set enable_mergejoin = off
set jit = off
as $$
declare
  v_most constant int := 20000;
  v_floor uuid := penstock.uuid7_floor(p_cutoff);
  v_gone uuid[];
  v_gap record;
begin
  with old as (
    select h.id
      from penstock.history_strays as h
     where h.finished_at < p_cutoff
       and not exists (select from penstock.jobs as j where j.id = h.parent)
       and not exists (select from penstock.edges as e join penstock.jobs as j on j.id = e.job where e.waits_for = h.id)
     limit v_most
  ), gone as (
    delete from penstock.history_strays as h using old where h.id = old.id returning h.id
  )
  select array_agg(id) into v_gone from gone;
  if v_gone is not null then
    perform penstock.forget(v_gone);
  end if;
  for v_gap in
    select *
      from (select coalesce(lag(past) over (order by lowest), '00000000-0000-0000-0000-000000000000') as lowest,
                   least(lowest, v_floor) as past
              from penstock.partitions_of('penstock.history')) as gap
     where lowest < past
  loop
    delete from penstock.edges as e
     using (select e.job, e.waits_for
              from penstock.edges as e
             where e.job >= v_gap.lowest and e.job < v_gap.past
               and not exists (select from penstock.all_jobs as j where j.id = e.job)
             limit v_most) as old
     where e.job = old.job and e.waits_for = old.waits_for;
    with old as (
      select s.job, s.name
        from penstock.steps as s
       where s.job >= v_gap.lowest and s.job < v_gap.past
         and not exists (select from penstock.all_jobs as j where j.id = s.job)
       limit v_most
    ), gone as (
      delete from penstock.steps as s using old where s.job = old.job and s.name = old.name returning s.job, s.kind
    )
    -- what was called back with, and never asked for
    delete from penstock.events as e using gone as g where g.kind = 'callback' and e.key = g.job::text;
  end loop;
  delete from penstock.waits as w
   using (select w.job, w.step
            from penstock.waits as w
           where w.job < v_floor and not exists (select from penstock.jobs as j where j.id = w.job)
           limit v_most) as old
   where w.job = old.job and w.step = old.step;
end
$$;
