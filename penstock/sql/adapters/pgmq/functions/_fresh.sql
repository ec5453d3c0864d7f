-- Messages whose delay is over and which nobody has read yet: they belong among those that are ready, by their numbers. Looks at a
-- hundred more than are wanted; where these are all such, they go first as they are, and none is named: who looks past them would
-- walk over all of them. Must use jobs_scheduled.
create or replace function pgmq._fresh(p_queue pgmq.meta, p_limit int, p_conditional jsonb)
returns uuid[]
language plpgsql
set enable_seqscan = off
set enable_bitmapscan = off
set enable_sort = off
set jit = off
set plan_cache_mode = force_generic_plan
as $$
declare
  c_more constant int := 100;
  v_now timestamptz := penstock.clock();
  v_since timestamptz := (penstock.time_floor()).due_since;
  v_tag bytea := pgmq._tag(p_queue.number);
  v_any boolean := coalesce(p_conditional = '{}', true);
  v_fresh uuid[];
begin
  select coalesce(array_agg(id) filter (where claims = 0), '{}')
    into v_fresh
    from (select id, claims from penstock.jobs
           where state = 'scheduled' and run_at >= v_since and run_at <= v_now
             and queue = p_queue.queue and kind = p_queue.queue and pgmq._tag_of(id) = v_tag
             and (v_any or pgmq._message(id, args, options) @> p_conditional)
           order by run_at
           limit p_limit + c_more) as due;
  return case when cardinality(v_fresh) < c_more then v_fresh else '{}' end;
end
$$;
