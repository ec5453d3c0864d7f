-- Locks up to p_limit ready jobs of a queue, best first, and returns their ids.
--
-- The marks are a claimer's cursor: for each priority it has met, the (turn, id) it took last. Looking only
-- past them steps over no dead index entry; without them every claim walks all entries that a vacuum could not
-- remove yet (an old snapshot anywhere is enough: 35k jobs/s fell to 4k/s within 300k jobs). Between and around
-- the marks' priorities the look is complete, so a more urgent job is seen at once.
-- Both selects must use jobs_ready.
create or replace function penstock.pick_ready(
  p_queue text, p_limit int,
  p_priorities int[], p_turns bigint[], p_ids uuid[],
  p_kinds text[], p_owner text
)
returns uuid[]
language plpgsql
set enable_seqscan = off
set jit = off
set enable_bitmapscan = off
set enable_sort = off
set plan_cache_mode = force_generic_plan
as $$
declare
  v_picked uuid[] := '{}';
  v_above bigint := -2147483649;
begin
  for i in 1 .. coalesce(cardinality(p_priorities), 0) loop
    if p_priorities[i] > v_above + 1 then
      v_picked := v_picked || array(
        select id from penstock.jobs
         where state = 'ready' and quota is null and queue = p_queue
           and priority > v_above and priority < p_priorities[i]
           and (p_kinds is null or kind = any(p_kinds)) and (p_owner is null or owner = p_owner)
         order by priority, turn, id
         limit p_limit - cardinality(v_picked)
           for update skip locked);
    end if;
    v_picked := v_picked || array(
      select id from penstock.jobs
       where state = 'ready' and quota is null and queue = p_queue
         and priority = p_priorities[i] and (turn, id) > (p_turns[i], p_ids[i])
         and (p_kinds is null or kind = any(p_kinds)) and (p_owner is null or owner = p_owner)
       order by priority, turn, id
       limit p_limit - cardinality(v_picked)
         for update skip locked);
    if cardinality(v_picked) >= p_limit then
      return v_picked;
    end if;
    v_above := p_priorities[i];
  end loop;
  return v_picked || array(
    select id from penstock.jobs
     where state = 'ready' and quota is null and queue = p_queue
       and priority > v_above
       and (p_kinds is null or kind = any(p_kinds)) and (p_owner is null or owner = p_owner)
     order by priority, turn, id
     limit p_limit - cardinality(v_picked)
       for update skip locked);
end
$$;
