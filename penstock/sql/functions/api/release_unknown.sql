-- Gives back what a lease holds besides the jobs its worker knows of: the answer to a claim was lost on the way, or the
-- notification of a job that was handed to it. Without it such jobs would run nowhere for as long as the worker lives. Those
-- that started less than p_seconds ago are left: their notification may yet arrive. Returns the ids.
create or replace function penstock.release_unknown(p_lease bigint, p_known uuid[], p_seconds double precision default 0)
returns setof uuid
language plpgsql
set enable_seqscan = off
set enable_bitmapscan = off
set jit = off
as $$
declare
  v_now timestamptz := penstock.clock();
  v_unknown uuid[] := array(
    select id from penstock.running_jobs(p_lease => p_lease)
     where id <> all(p_known) and started_at <= v_now - make_interval(secs => p_seconds));
begin
  if cardinality(v_unknown) = 0 then
    return; -- see lock_flows()
  end if;
  perform penstock.lock_flows(v_unknown);
  v_unknown := array(
    select id from penstock.jobs where id = any(v_unknown) and lease = p_lease order by id for update);
  perform penstock.give_back(v_unknown, false);
  return query select unnest(v_unknown);
end
$$;
