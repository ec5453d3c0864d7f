-- Keeps every job of a worker for another lease length. `alive` is false when the lease was reclaimed: all its
-- jobs belong to others by now. `cancelling` names the running jobs somebody wants stopped.
create or replace function penstock.extend_lease(p_lease bigint)
returns table (alive boolean, cancelling uuid[])
language plpgsql
set enable_seqscan = off
set jit = off
set enable_bitmapscan = off
as $$
begin
  update penstock.leases
     set expires_at = penstock.clock() + length
   where id = p_lease;
  alive := found;
  -- must use jobs_running
  select coalesce(array_agg(j.id), '{}')
    into cancelling
    from penstock.jobs as j
   where j.state = 'running' and j.lease = p_lease and j.cancel_requested;
  return next;
end
$$;
