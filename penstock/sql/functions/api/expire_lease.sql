-- A worker is known to be dead, or to have lost its lease: its jobs go back at once, the attempt counted. Returns how many.
create or replace function penstock.expire_lease(p_lease bigint)
returns int
language plpgsql
set enable_seqscan = off
as $$
begin
  perform penstock.set_expiry(p_lease, '-infinity');
  return penstock.reclaim(p_lease => p_lease);
end
$$;
