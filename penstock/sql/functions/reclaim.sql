-- Takes back the jobs of workers that were not heard of in time. Their attempt counts: what kills its worker every
-- time must not go round for ever. Also finds jobs whose lease is gone altogether (claimed in the instant their lease
-- was reclaimed). Returns how many jobs.
create or replace function penstock.reclaim()
returns int
language plpgsql
set enable_seqscan = off
set jit = off
set enable_bitmapscan = off
as $$
declare
  v_lease record;
  v_jobs uuid[];
  v_reclaimed int := 0;
begin
  for v_lease in
    select id, worker from penstock.leases where expires_at < penstock.clock() for update skip locked
  loop
    -- must use jobs_running
    v_jobs := array(select id from penstock.jobs where state = 'running' and lease = v_lease.id order by id for update);
    perform penstock.give_back(v_jobs, true, format('worker %s was lost: its lease ran out', v_lease.worker));
    delete from penstock.waiting where lease = v_lease.id;
    delete from penstock.leases where id = v_lease.id;
    v_reclaimed := v_reclaimed + cardinality(v_jobs);
  end loop;

  for v_lease in
    with recursive held as (
      select min(lease) as id from penstock.jobs where state = 'running'
      union all
      select (select min(lease) from penstock.jobs where state = 'running' and lease > held.id)
        from held
       where held.id is not null
    )
    select id from held where id is not null and not exists (select from penstock.leases as l where l.id = held.id)
  loop
    v_jobs := array(select id from penstock.jobs where state = 'running' and lease = v_lease.id order by id for update);
    perform penstock.give_back(v_jobs, true, 'its worker was lost');
    v_reclaimed := v_reclaimed + cardinality(v_jobs);
  end loop;
  return v_reclaimed;
end
$$;
