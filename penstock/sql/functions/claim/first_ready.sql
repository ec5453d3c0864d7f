-- The first p_limit ready jobs of a queue, past marks as those of pick_ready(), which also locks them. Must use jobs_ready.
create or replace function penstock.first_ready(p_queue text, p_limit int, p_priorities int[], p_turns bigint[], p_ids uuid[])
returns table (id uuid, limit_key text, priority int, turn bigint)
language plpgsql stable
set enable_seqscan = off
set jit = off
set enable_bitmapscan = off
set enable_sort = off
set plan_cache_mode = force_generic_plan
as $$
#variable_conflict use_column
declare
  v_above bigint := -2147483649;
  v_left int := p_limit;
  v_found int;
begin
  for i in 1 .. coalesce(cardinality(p_priorities), 0) loop
    return query
      select id, limit_key, priority, turn from penstock.jobs
       where state = 'ready' and quota is null and queue = p_queue
         and priority > v_above and priority < p_priorities[i]
       order by priority, turn, id
       limit v_left;
    get diagnostics v_found = row_count;
    v_left := v_left - v_found;
    return query
      select id, limit_key, priority, turn from penstock.jobs
       where state = 'ready' and quota is null and queue = p_queue and priority = p_priorities[i] and turn < 0
       order by priority, turn, id
       limit v_left;
    get diagnostics v_found = row_count;
    v_left := v_left - v_found;
    return query
      select id, limit_key, priority, turn from penstock.jobs
       where state = 'ready' and quota is null and queue = p_queue
         and priority = p_priorities[i] and (turn, id) >= (p_turns[i], p_ids[i])
       order by priority, turn, id
       limit v_left;
    get diagnostics v_found = row_count;
    v_left := v_left - v_found;
    exit when v_left <= 0;
    v_above := p_priorities[i];
  end loop;
  return query
    select id, limit_key, priority, turn from penstock.jobs
     where state = 'ready' and quota is null and queue = p_queue and priority > v_above
     order by priority, turn, id
     limit v_left;
end
$$;
