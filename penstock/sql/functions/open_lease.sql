create or replace function penstock.open_lease(
  p_worker text, p_length interval default '30 seconds', p_queues text[] default '{}',
  p_host text default null, p_pid int default null
)
returns bigint
language plpgsql
as $$
declare
  v_now timestamptz := penstock.clock();
  v_lease bigint;
begin
  if p_length is null or p_length <= interval '0' then
    raise exception 'lease length must be positive, not %', p_length using errcode = 'PS001';
  end if;
  insert into penstock.leases (worker, host, pid, queues, length, started_at, expires_at)
  values (p_worker, p_host, p_pid, p_queues, p_length, v_now, v_now + p_length)
  returning id into v_lease;
  return v_lease;
end
$$;
