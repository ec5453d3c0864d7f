-- A worker arrives. Without a length its lease is as long as the longest that its queues ask for, else 30 seconds.
-- p_kinds is what it has handlers of: jobs that waited for such a worker wait no longer.
create or replace function penstock.open_lease(
  p_worker text, p_seconds double precision default null, p_queues text[] default '{}',
  p_host text default null, p_pid int default null, p_kinds text[] default null
)
returns bigint
language plpgsql
as $$
declare
  v_now timestamptz := penstock.clock();
  v_lease bigint;
  v_length interval;
begin
  v_length := coalesce(
    make_interval(secs => p_seconds), (select max(lease_length) from penstock.queues where name = any(p_queues)), interval '30 seconds');
  if v_length <= interval '0' then
    raise exception 'lease length must be positive, not %', v_length using errcode = 'PS001';
  end if;
  insert into penstock.leases (worker, host, pid, queues, kinds, length, started_at)
  values (p_worker, p_host, p_pid, p_queues, p_kinds, v_length, v_now)
  returning id into v_lease;
  insert into penstock.heartbeats (lease, expires_at) values (v_lease, v_now + v_length);
  if p_kinds is not null then
    perform penstock.unpark(p_kinds, p_queues);
  end if;
  return v_lease;
end
$$;
