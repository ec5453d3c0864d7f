-- Locks up to p_limit visible messages of a queue and returns the ids of their jobs: those that are visible again first, then in
-- the order of their numbers, those whose delay is over among the others. Of the usual priority it looks from the queue's floor on, as a claim does: see
-- penstock.pick_ready(). Must use jobs_ready.
create or replace function pgmq._pick(p_queue pgmq.meta, p_limit int, p_conditional jsonb)
returns uuid[]
language plpgsql
set enable_seqscan = off
set enable_bitmapscan = off
set enable_sort = off
set jit = off
set plan_cache_mode = force_generic_plan
as $$
declare
  v_tag bytea := pgmq._tag(p_queue.number);
  v_any boolean := coalesce(p_conditional = '{}', true);
  v_now timestamptz := penstock.clock();
  v_since timestamptz := (penstock.time_floor()).due_since;
  v_floor penstock.floors;
  v_mark record;
  v_paused boolean;
  v_urgent boolean;
  v_front boolean;
  v_due boolean;
  v_fresh uuid[] := '{}';
  v_picked uuid[] := '{}';
begin
  select * into v_floor from penstock.floors where queue = p_queue.queue and line = 0 order by number desc limit 1;
  if v_floor.raised_at >= penstock.clock() - interval '50 milliseconds' is not true then
    v_floor := penstock.raise_floor(p_queue.queue);
    perform penstock.raise_time_floor();
  end if;
  select coalesce(min(turn), 0) as turn, coalesce((array_agg(id))[1], '00000000-0000-0000-0000-000000000000') as id
    into v_mark
    from unnest(v_floor.priorities, v_floor.turns, v_floor.ids) as m (priority, turn, id)
   where priority = 0;
  select exists (select from penstock.queues where name = p_queue.queue and paused),
         exists (select from penstock.jobs
                  where state = 'ready' and queue = p_queue.queue and (quota is not null)::int = 0 and priority > 0),
         exists (select from penstock.jobs
                  where state = 'ready' and queue = p_queue.queue and (quota is not null)::int = 0 and priority = 0 and turn < 0),
         exists (select from penstock.jobs where state = 'scheduled' and run_at >= v_since and run_at <= v_now)
    into v_paused, v_urgent, v_front, v_due;
  if v_paused then
    return '{}';
  end if;
  if v_due then
    if exists (select from penstock.jobs
                where state = 'ready' and queue = p_queue.queue and (quota is not null)::int = 0 and priority = 0
                  and (turn, id) >= (v_mark.turn, v_mark.id))
    then
      v_fresh := pgmq._fresh(p_queue, p_limit, p_conditional);
    end if;
    v_picked := pgmq._due(p_queue, p_limit, p_conditional, v_fresh);
  end if;
  if v_urgent then
    v_picked := v_picked || array(
      select id from penstock.jobs
       where state = 'ready' and queue = p_queue.queue and (quota is not null)::int = 0 and priority > 0
         and kind = p_queue.queue and pgmq._tag_of(id) = v_tag
         and (v_any or pgmq._message(id, args, options) @> p_conditional)
       order by priority desc, turn, id
       limit p_limit - cardinality(v_picked)
         for update skip locked);
  end if;
  if v_front then
    v_picked := v_picked || array(
      select id from penstock.jobs
       where state = 'ready' and queue = p_queue.queue and (quota is not null)::int = 0 and priority = 0 and turn < 0
         and kind = p_queue.queue and pgmq._tag_of(id) = v_tag
         and (v_any or pgmq._message(id, args, options) @> p_conditional)
       order by priority desc, turn, id
       limit p_limit - cardinality(v_picked)
         for update skip locked);
  end if;
  if v_fresh <> '{}' and cardinality(v_picked) < p_limit then
    v_picked := v_picked || array(
      select id from penstock.jobs
       where id = any(array(
               select id
                 from (select id from unnest(v_fresh) as id
                       union all
                       select id from (
                         select id from penstock.jobs
                          where state = 'ready' and queue = p_queue.queue and (quota is not null)::int = 0 and priority = 0
                            and (turn, id) >= (v_mark.turn, v_mark.id)
                            and kind = p_queue.queue and pgmq._tag_of(id) = v_tag
                            and (v_any or pgmq._message(id, args, options) @> p_conditional)
                          order by priority desc, turn, id
                          limit p_limit - cardinality(v_picked)) as line) as together
                order by pgmq._msg_id(id)
                limit p_limit - cardinality(v_picked)))
         and id = any(v_fresh) and state = 'scheduled' and run_at <= v_now
         for update skip locked);
  end if;
  v_picked := v_picked || array(
    select id from penstock.jobs
     where state = 'ready' and queue = p_queue.queue and (quota is not null)::int = 0 and priority = 0
       and (turn, id) >= (v_mark.turn, v_mark.id)
       and kind = p_queue.queue and pgmq._tag_of(id) = v_tag
       and (v_any or pgmq._message(id, args, options) @> p_conditional)
     order by priority desc, turn, id
     limit p_limit - cardinality(v_picked)
       for update skip locked);
  if cardinality(v_picked) < p_limit then
    v_picked := v_picked || array(
      select id from penstock.jobs
       where state = 'ready' and queue = p_queue.queue and (quota is not null)::int = 0 and priority < 0
         and kind = p_queue.queue and pgmq._tag_of(id) = v_tag
         and (v_any or pgmq._message(id, args, options) @> p_conditional)
       order by priority desc, turn, id
       limit p_limit - cardinality(v_picked)
         for update skip locked);
  end if;
  if v_fresh <> '{}' and cardinality(v_picked) < p_limit then
    v_picked := v_picked || pgmq._due(p_queue, p_limit - cardinality(v_picked), p_conditional, v_picked);
  end if;
  return v_picked;
end
$$;
