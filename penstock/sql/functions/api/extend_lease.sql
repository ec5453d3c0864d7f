-- Keeps every job of a worker for another lease length. `alive` is false when the lease was reclaimed: all its
-- jobs belong to others by now. `cancelling` names the running jobs somebody wants stopped, `leads` tells whether this
-- worker does what happens now and then, `seconds` is the lease's length.
create or replace function penstock.extend_lease(p_lease bigint)
returns table (alive boolean, cancelling uuid[], leads boolean, seconds double precision)
language plpgsql
as $$
begin
  select h.alive, h.cancelling, h.seconds
    into alive, cancelling, seconds
    from penstock.heartbeat(p_lease) as h;
  leads := alive and penstock.lead(p_lease);
  return next;
end
$$;
