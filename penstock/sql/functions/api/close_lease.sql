-- A worker leaves: whatever it still holds goes back at no cost of an attempt. Returns how many.
create or replace function penstock.close_lease(p_lease bigint)
returns int
language plpgsql
set enable_seqscan = off
as $$
declare
  v_released int;
begin
  -- first: what a claim takes that is under way is released too
  delete from penstock.leases where id = p_lease;
  select count(*)
    into v_released
    from penstock.release(p_lease, array(select id from penstock.jobs where state = 'running' and lease = p_lease));
  delete from penstock.waiting_now where lease = p_lease;
  update penstock.leader set until = '-infinity' where lease = p_lease;
  return v_released;
end
$$;
