-- Takes back the jobs of workers that were not heard of in time. Their attempt counts: what kills its worker every
-- time must not go round for ever. With p_everywhere also jobs whose lease is gone altogether, as nothing here leaves
-- them, for which every lease that has a running job is looked at; with p_lease those of this one. Returns how many jobs.
-- A job that somebody else has locked (a long transaction that enqueues after it) is left, and so is its lease, which nothing
-- brings back: the next round finds it.
create or replace function penstock.reclaim(p_everywhere boolean default false, p_lease bigint default null)
returns int
language plpgsql
set enable_seqscan = off
set jit = off
set enable_bitmapscan = off
as $$
declare
  v_leases bigint[] := array(select id from penstock.leases where expires_at < penstock.clock() for update skip locked);
  v_lost bigint[];
  v_held uuid[];
  v_jobs uuid[] := '{}';
begin
  v_lost := case when p_lease is null or p_lease = any(v_leases) or exists (select from penstock.leases where id = p_lease)
                 then v_leases else v_leases || p_lease end;
  if p_everywhere then
    -- must use jobs_running, once for each lease; min() would read all of it when the planner believes it small
    with recursive held as (
      (select lease as id from penstock.jobs where state = 'running' order by lease limit 1)
      union all
      select (select lease from penstock.jobs where state = 'running' and lease > held.id order by lease limit 1)
        from held
       where held.id is not null
    )
    select v_lost || array_agg(id)
      into v_lost
      from held
     where id is not null and not exists (select from penstock.leases as l where l.id = held.id);
  end if;
  if cardinality(v_lost) = 0 then
    return 0; -- see lock_flows()
  end if;
  -- must use jobs_running, then jobs_pkey: in one step the planner may read all of jobs_pkey for the sake of its order
  v_held := array(select id from penstock.jobs where state = 'running' and lease = any(v_lost));
  if cardinality(v_held) > 0 then
    perform penstock.lock_flows(v_held);
    v_jobs := array(
      select id from penstock.jobs where id = any(v_held) and lease = any(v_lost) order by id for update skip locked);
    perform penstock.give_back(v_jobs, true, 'its worker was lost');
  end if;
  delete from penstock.waiting_now where lease = any(v_leases);
  update penstock.leases set expires_at = '-infinity' where id = any(v_leases) and cardinality(v_held) > cardinality(v_jobs);
  delete from penstock.leases
   where id = any(v_leases)
     and (cardinality(v_held) = 0
          or not exists (select from penstock.jobs as j where j.id = any(v_held) and j.lease = leases.id));
  return cardinality(v_jobs);
end
$$;
