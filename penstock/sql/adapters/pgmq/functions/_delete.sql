-- Deletes the jobs of messages, which leave no trace, and returns what they were. One that another job waits for is cancelled
-- instead, and that other one with it. They are locked first: what is kept beside one that somebody else has archived meanwhile stays.
create or replace function pgmq._delete(p_ids uuid[])
returns setof pgmq.message_record
language plpgsql
set enable_seqscan = off
set enable_bitmapscan = off
set jit = off
set plan_cache_mode = force_generic_plan
as $$
declare
  v_awaited uuid[];
  v_others uuid[];
  v_beside uuid[];
  v_freed text[];
begin
  select coalesce(array_agg(id) filter (where awaited), '{}'),
         array_agg(id) filter (where not awaited),
         array_agg(id) filter (where not awaited and has_more),
         array_agg(queue) filter (where not awaited and counted)
    into v_awaited, v_others, v_beside, v_freed
    from (select id, awaited, counted, queue, args is null or error_count is not null as has_more
            from penstock.jobs
           where id = any(p_ids)
           order by id
             for update) as locked;
  return query
    with gone as (
      delete from penstock.jobs where id = any(v_others) returning *
    )
    select pgmq._msg_id(id), claims, created_at, run_at, pgmq._message(id, args, options), options->'headers', started_at
      from gone;
  if v_beside is not null then
    perform penstock.forget(v_beside);
  end if;
  if v_freed is not null then
    perform penstock.wake(queue, count(*)::int) from unnest(v_freed) as queue group by queue;
  end if;
  if cardinality(v_awaited) > 0 then
    return query
      select pgmq._msg_id(id), claims, created_at, run_at, pgmq._message(id, args, options), options->'headers', started_at
        from penstock.jobs where id = any(v_awaited);
    perform penstock.finish(v_awaited, 'cancelled');
    perform penstock.settle(v_awaited);
  end if;
end
$$;
