-- A worker leaves: whatever it still holds goes back at no cost of an attempt. Returns how many. If it led, an idle worker is told
-- to look: by itself it would see at its next heartbeat, up to 24 seconds later, that nobody makes due jobs ready.
create or replace function penstock.close_lease(p_lease bigint)
returns int
language plpgsql
set enable_seqscan = off
set enable_bitmapscan = off
as $$
declare
  v_held uuid[];
  v_released int;
begin
  -- first: what a claim takes that is under way is released too
  perform from penstock.leases where id = p_lease for update;
  if found then
    v_held := array(select id from penstock.running_jobs(p_lease => p_lease));
  else
    v_held := array(select id from penstock.jobs where state = 'running' and lease = p_lease);
  end if;
  select count(*) into v_released from penstock.release(p_lease, v_held);
  delete from penstock.leases where id = p_lease;
  delete from penstock.waiting_now where lease = p_lease;
  if (select lease = p_lease from penstock.leader order by number desc limit 1) then
    perform penstock.lead(p_lease, p_until => '-infinity');
    perform pg_notify((select wake from penstock.channels), chosen.lease || ' lead')
       from (select w.lease
               from penstock.waiting_now as w
              where exists (select from pg_stat_get_activity(w.backend))
              limit 1) as chosen;
  end if;
  return v_released;
end
$$;
