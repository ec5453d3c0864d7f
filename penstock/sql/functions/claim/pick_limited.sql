-- Picks jobs of a queue that has limits, for a claimer that has locked them (lock_limits): from the floor of its line, and from that
-- of jobs under quotas, if it has such.
create or replace function penstock.pick_limited(
  p_queue penstock.queues, p_limit int, p_floor penstock.floors, p_kinds text[], p_owner text, p_now timestamptz,
  p_under_quota boolean, p_quota_floor penstock.floors
)
returns uuid[]
language plpgsql
set enable_seqscan = off
set jit = off
set enable_bitmapscan = off
as $$
declare
  v_free int := p_limit;
  v_all_running int;
  v_running jsonb;
  v_picked uuid[];
begin
  if p_queue.max_running is not null or p_queue.max_running_per_key is not null then
    select sum(jobs), jsonb_object_agg(limit_key, jobs) filter (where limit_key is not null)
      into v_all_running, v_running
      from (select limit_key, count(*) as jobs from penstock.running_jobs(p_queue.name) group by limit_key) as by_key;
    v_free := least(v_free, p_queue.max_running - coalesce(v_all_running, 0));
  end if;
  if p_queue.rate is not null then
    v_free := least(v_free, penstock.starts_left(p_queue.name, '', p_queue.rate, p_queue.rate_period, p_now));
  end if;
  if v_free <= 0 then
    return '{}';
  end if;

  if p_queue.max_running_per_key is null and p_queue.rate_per_key is null then
    v_picked := penstock.pick_ready(
      p_queue.name, v_free, p_floor.priorities, p_floor.turns, p_floor.ids, p_kinds, p_owner);
  elsif p_kinds is null and p_owner is null then
    v_picked := penstock.pick_by_member(p_queue.name, 0, v_free, p_floor, null, null, p_queue, v_running, p_now);
  else
    raise exception 'queue % has limits per key: claim from it without naming kinds or an owner', p_queue.name
      using errcode = 'PS001';
  end if;
  if p_under_quota then
    v_picked := penstock.best_of(
      v_picked
      || penstock.pick_by_member(p_queue.name, 1, v_free, p_quota_floor, p_kinds, p_owner, p_queue, v_running, p_now), v_free);
    -- both halves together keep to the limits of their keys
    v_picked := array(
      select ranked.id
        from (select j.id, j.limit_key, row_number() over (partition by j.limit_key order by j.priority desc, j.turn, j.id) as place
                from penstock.jobs as j
               where j.id = any(v_picked)) as ranked
       where ranked.limit_key is null or ranked.place <= penstock.key_allowance(p_queue, ranked.limit_key, v_running, p_now));
  end if;

  if p_queue.rate is not null or p_queue.rate_per_key is not null then
    perform penstock.count_starts(p_queue, v_picked, p_now);
  end if;
  return v_picked;
end
$$;
