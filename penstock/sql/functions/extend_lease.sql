-- Keeps every job of a worker for another lease length. `alive` is false when the lease was reclaimed: all its
-- jobs belong to others by now. `cancelling` names the running jobs somebody wants stopped, `leads` tells whether this
-- worker does what happens now and then, `seconds` is the lease's length.
create or replace function penstock.extend_lease(p_lease bigint)
returns table (alive boolean, cancelling uuid[], leads boolean, seconds double precision)
language plpgsql
set enable_seqscan = off
set jit = off
set enable_bitmapscan = off
as $$
begin
  update penstock.leases
     set expires_at = penstock.clock() + length
   where id = p_lease
  returning extract(epoch from length) into seconds;
  alive := found;
  -- must use jobs_running
  select coalesce(array_agg(j.id), '{}')
    into cancelling
    from penstock.jobs as j
   where j.state = 'running' and j.lease = p_lease and j.cancel_requested;
  leads := alive and penstock.lead(p_lease);
  return next;
end
$$;
