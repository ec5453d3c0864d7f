-- Keeps every job of a worker for another lease length, without a say in who leads: for workers that reach the database
-- through the API only and could not do what the leading one does. See extend_lease.
create or replace function penstock.heartbeat(p_lease bigint)
returns table (alive boolean, cancelling uuid[], seconds double precision)
language plpgsql
set enable_seqscan = off
set jit = off
set enable_bitmapscan = off
as $$
begin
  select extract(epoch from l.length) into seconds
    from penstock.leases as l
   where l.id = p_lease and penstock.set_expiry(l.id, penstock.clock() + l.length);
  alive := found;
  -- must use jobs_to_stop
  select coalesce(array_agg(j.id), '{}')
    into cancelling
    from penstock.jobs as j
   where j.state = 'running' and j.lease = p_lease and j.cancel_requested;
  return next;
end
$$;
