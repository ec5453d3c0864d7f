-- How many more jobs of an owner may run under a quota. Counts those that started past the floor of time, by jobs_running_quota, and
-- the older ones that it names, by jobs_pkey.
create or replace function penstock.quota_allowance(p_quota text, p_owner text, p_floor penstock.time_floors)
returns int
language plpgsql stable
set enable_seqscan = off
set jit = off
set enable_bitmapscan = off
as $$
declare
  v_most int := (select running from penstock.quotas where name = p_quota);
  v_running int;
begin
  if v_most is null then
    return 2147483647;
  end if;
  select count(*)
    into v_running
    from penstock.jobs
   where state = 'running' and quota = p_quota and owner = p_owner and started_at >= p_floor.started_since;
  if p_owner = any(p_floor.started_by) then
    v_running := v_running + (
      select count(*)
        from penstock.jobs
       where id = any(array(select id from unnest(p_floor.started_before, p_floor.started_by) as b (id, owner)
                             where owner = p_owner))
         and state::text = 'running' and quota = p_quota and started_at < p_floor.started_since);
  end if;
  return greatest(0, v_most - v_running);
end
$$;
