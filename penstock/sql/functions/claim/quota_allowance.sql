-- How many more jobs of an owner may run under a quota. Counting must use jobs_running_quota.
create or replace function penstock.quota_allowance(p_quota text, p_owner text)
returns int
language plpgsql stable
set enable_seqscan = off
set jit = off
set enable_bitmapscan = off
as $$
declare
  v_most int := (select running from penstock.quotas where name = p_quota);
begin
  if v_most is null then
    return 2147483647;
  end if;
  return greatest(0, v_most - (
    select count(*) from penstock.jobs where state = 'running' and quota = p_quota and owner = p_owner));
end
$$;
