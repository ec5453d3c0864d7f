-- The first p_limit ready jobs in a queue's line, past the marks of its floor: as pick_ready(), which also locks them. `member` is
-- whom they share a limit with; those who lag behind the marks are not among them. Must use jobs_ready.
create or replace function penstock.first_ready(
  p_queue text, p_line int, p_limit int, p_floor penstock.floors, p_kinds text[] default null, p_owner text default null
)
returns table (id uuid, quota text, member text, priority int, turn bigint)
language plpgsql stable
set enable_seqscan = off
set jit = off
set enable_bitmapscan = off
set enable_sort = off
set plan_cache_mode = force_generic_plan
as $$
#variable_conflict use_column
declare
  v_above bigint := 2147483648;
  v_left int := p_limit;
  v_found int;
begin
  for i in 1 .. coalesce(cardinality(p_floor.priorities), 0) loop
    return query
      select id, coalesce(quota, ''), case when quota is null then limit_key else owner end, priority, turn
        from penstock.jobs
       where state = 'ready' and queue = p_queue and (quota is not null)::int = p_line
         and priority < v_above and priority > p_floor.priorities[i]
         and (p_kinds is null or kind = any(p_kinds)) and (p_owner is null or owner = p_owner)
       order by priority desc, turn, id
       limit v_left;
    get diagnostics v_found = row_count;
    v_left := v_left - v_found;
    return query
      select id, coalesce(quota, ''), case when quota is null then limit_key else owner end, priority, turn
        from penstock.jobs
       where state = 'ready' and queue = p_queue and (quota is not null)::int = p_line
         and priority = p_floor.priorities[i] and turn < 0
         and (p_kinds is null or kind = any(p_kinds)) and (p_owner is null or owner = p_owner)
       order by priority desc, turn, id
       limit v_left;
    get diagnostics v_found = row_count;
    v_left := v_left - v_found;
    return query
      select id, coalesce(quota, ''), case when quota is null then limit_key else owner end, priority, turn
        from penstock.jobs
       where state = 'ready' and queue = p_queue and (quota is not null)::int = p_line
         and priority = p_floor.priorities[i] and (turn, id) >= (p_floor.turns[i], p_floor.ids[i])
         and (p_kinds is null or kind = any(p_kinds)) and (p_owner is null or owner = p_owner)
       order by priority desc, turn, id
       limit v_left;
    get diagnostics v_found = row_count;
    v_left := v_left - v_found;
    exit when v_left <= 0;
    v_above := p_floor.priorities[i];
  end loop;
  return query
    select id, coalesce(quota, ''), case when quota is null then limit_key else owner end, priority, turn
      from penstock.jobs
     where state = 'ready' and queue = p_queue and (quota is not null)::int = p_line and priority < v_above
       and (p_kinds is null or kind = any(p_kinds)) and (p_owner is null or owner = p_owner)
     order by priority desc, turn, id
     limit v_left;
end
$$;
