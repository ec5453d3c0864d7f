-- Locks up to p_limit ready jobs of a queue, best first, and returns their ids: those that are under no quota.
--
-- The marks tell for each of these priorities, in their order, from which (turn, id) to look: a claimer's cursor, which is where
-- it took last, or the queue's floor. Looking only past them steps over no dead index entry; without them every claim walks all
-- entries that a vacuum could not remove yet (an old snapshot anywhere is enough: 35k jobs/s fell to 4k/s within 300k jobs).
-- Between and around the marks' priorities the look is complete, so a more urgent job is seen at once, and so it is at the front
-- (turns below zero), where only those stand that lost their worker. Every select must use jobs_ready; with comparisons of single
-- columns at its end, for before Postgres 18 it reads on past the end of a row comparison.
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
  v_above bigint := 2147483648;
  v_between boolean;
  v_front boolean;
begin
  for i in 1 .. coalesce(cardinality(p_priorities), 0) loop
    -- mostly neither: one statement for both looks is cheaper than one for each
    select exists (select from penstock.jobs
                    where state = 'ready' and queue = p_queue and (quota is not null)::int = 0
                      and priority < v_above and priority > p_priorities[i]),
           exists (select from penstock.jobs
                    where state = 'ready' and queue = p_queue and (quota is not null)::int = 0 and priority = p_priorities[i] and turn < 0)
      into v_between, v_front;
    if v_between then
      v_picked := v_picked || array(
        select id from penstock.jobs
         where state = 'ready' and queue = p_queue and (quota is not null)::int = 0
           and priority < v_above and priority > p_priorities[i]
           and (p_kinds is null or kind = any(p_kinds)) and (p_owner is null or owner = p_owner)
         order by priority desc, turn, id
         limit p_limit - cardinality(v_picked)
           for update skip locked);
    end if;
    if v_front then
      v_picked := v_picked || array(
        select id from penstock.jobs
         where state = 'ready' and queue = p_queue and (quota is not null)::int = 0 and priority = p_priorities[i] and turn < 0
           and (p_kinds is null or kind = any(p_kinds)) and (p_owner is null or owner = p_owner)
         order by priority desc, turn, id
         limit p_limit - cardinality(v_picked)
           for update skip locked);
    end if;
    v_picked := v_picked || array(
      select id from penstock.jobs
       where state = 'ready' and queue = p_queue and (quota is not null)::int = 0
         and priority = p_priorities[i] and (turn, id) >= (p_turns[i], p_ids[i])
         and (p_kinds is null or kind = any(p_kinds)) and (p_owner is null or owner = p_owner)
       order by priority desc, turn, id
       limit p_limit - cardinality(v_picked)
         for update skip locked);
    if cardinality(v_picked) >= p_limit then
      return v_picked;
    end if;
    v_above := p_priorities[i];
  end loop;
  return v_picked || array(
    select id from penstock.jobs
     where state = 'ready' and queue = p_queue and (quota is not null)::int = 0
       and priority < v_above
       and (p_kinds is null or kind = any(p_kinds)) and (p_owner is null or owner = p_owner)
     order by priority desc, turn, id
     limit p_limit - cardinality(v_picked)
       for update skip locked);
end
$$;
