-- A worker gives jobs back unfinished, at no cost of an attempt. Without claims: whatever the lease holds of these.
-- Returns the ids that were its own.
create or replace function penstock.release(p_lease bigint, p_ids uuid[], p_claims int[] default null)
returns setof uuid
language plpgsql
set enable_seqscan = off
set jit = off
set enable_bitmapscan = off
as $$
declare
  v_own uuid[];
begin
  if cardinality(p_ids) = 0 then
    return; -- see lock_flows()
  end if;
  perform penstock.lock_flows(p_ids);
  v_own := array(
    select j.id
      from penstock.jobs as j
      join unnest(p_ids, p_claims) as d (id, claims) on d.id = j.id and (p_claims is null or d.claims = j.claims)
     where j.id = any(p_ids) and j.lease = p_lease
     order by j.id
       for update of j);
  perform penstock.give_back(v_own, false);
  return query select unnest(v_own);
end
$$;
