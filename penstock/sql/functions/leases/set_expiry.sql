-- Says anew until when a lease lasts: '-infinity' ends it, and nothing brings it back. False when it has ended before.
-- Claims under the lease, which lock its row, are not held up; reclaim(), and whoever else says so, waits or passes over it.
create or replace function penstock.set_expiry(p_lease bigint, p_expires_at timestamptz)
returns boolean
language plpgsql
set enable_seqscan = off
set enable_bitmapscan = off
as $$
declare
  v_last penstock.heartbeats;
begin
  perform from penstock.leases where id = p_lease for no key update;
  select * into v_last from penstock.heartbeats where lease = p_lease order by number desc limit 1;
  if v_last.expires_at > '-infinity' is not true then
    return false;
  end if;
  insert into penstock.heartbeats (lease, number, expires_at) values (p_lease, v_last.number + 1, p_expires_at);
  delete from penstock.heartbeats where lease = p_lease and number = v_last.number;
  return true;
end
$$;
