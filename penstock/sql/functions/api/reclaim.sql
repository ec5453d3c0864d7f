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
  v_leases bigint[] := array(
    select id from penstock.leases
     where id = any(array(select id from penstock.leases_now where expires_at < penstock.clock()))
       for update skip locked);
  v_gone bigint[];
  v_held uuid[];
  v_jobs uuid[] := '{}';
begin
  if cardinality(v_leases) > 0 then
    -- without those heard of meanwhile: from here on nobody is, see set_expiry()
    v_leases := array(
      select id from penstock.leases_now where id = any(v_leases) and expires_at < penstock.clock());
  end if;
  v_gone := array(
    select p_lease where p_lease is not null and not exists (select from penstock.leases where id = p_lease));
  if p_everywhere then
    -- must use jobs_running, once for each lease; min() would read all of it when the planner believes it small
    with recursive held as (
      (select lease as id from penstock.jobs where state = 'running' order by lease limit 1)
      union all
      select (select lease from penstock.jobs where state = 'running' and lease > held.id order by lease limit 1)
        from held
       where held.id is not null
    )
    select v_gone || array_agg(id)
      into v_gone
      from held
     where id is not null and not exists (select from penstock.leases as l where l.id = held.id);
  end if;
  -- of leases that there are, past the floor of time; in two steps, or the planner may read all of jobs_pkey for its order
  v_held := array(
    select j.id from unnest(v_leases) as l (id) cross join lateral penstock.running_jobs(p_lease => l.id) as j);
  if cardinality(v_gone) > 0 then
    -- must use jobs_running
    v_held := v_held || array(select id from penstock.jobs where state = 'running' and lease = any(v_gone));
  end if;
  if cardinality(v_held) > 0 then
    perform penstock.lock_flows(v_held);
    v_jobs := array(
      select id from penstock.jobs
       where id = any(v_held) and lease = any(v_leases || v_gone) order by id for update skip locked);
    perform penstock.give_back(v_jobs, true, 'its worker was lost');
  end if;
  if cardinality(v_leases) > 0 then
    delete from penstock.waiting_now where lease = any(v_leases);
    if cardinality(v_held) > cardinality(v_jobs) then
      perform penstock.set_expiry(id, '-infinity') from unnest(v_leases) as id;
    end if;
    delete from penstock.leases
     where id = any(v_leases)
       and (cardinality(v_held) = 0
            or not exists (select from penstock.jobs as j where j.id = any(v_held) and j.lease = leases.id));
  end if;
  return cardinality(v_jobs);
end
$$;
