-- Locks up to p_limit messages of a queue whose time has come, but those of p_but, and which nobody has made ready: there may be no
-- worker that leads.
-- They are taken as they are, and no others are made ready on the way, because whoever reads may keep their transaction, and with
-- it the locks, for long. Only where so many jobs of others are due that every look walks over them, a part of them is.
-- Must use jobs_scheduled.
create or replace function pgmq._due(p_queue pgmq.meta, p_limit int, p_conditional jsonb, p_but uuid[])
returns uuid[]
language plpgsql
set enable_seqscan = off
set enable_bitmapscan = off
set enable_sort = off
set jit = off
set plan_cache_mode = force_generic_plan
as $$
declare
  c_many constant int := 2000;
  v_now timestamptz := penstock.clock();
  v_since timestamptz := (penstock.time_floor()).due_since;
  v_tag bytea := pgmq._tag(p_queue.number);
  v_any boolean := coalesce(p_conditional = '{}', true);
  v_due uuid[];
begin
  v_due := array(
    select id from penstock.jobs
     where state = 'scheduled' and run_at >= v_since and run_at <= v_now
       and queue = p_queue.queue and kind = p_queue.queue and pgmq._tag_of(id) = v_tag
       and (v_any or pgmq._message(id, args, options) @> p_conditional)
       and id <> all(p_but)
     order by run_at
     limit p_limit
       for update skip locked);
  if cardinality(v_due) < p_limit
     and exists (select from penstock.jobs where state = 'scheduled' and run_at >= v_since and run_at <= v_now offset c_many)
  then
    perform penstock.promote(c_many);
  end if;
  return v_due;
end
$$;
