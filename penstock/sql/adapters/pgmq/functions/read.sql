-- Reads messages and hides them for vt seconds: their jobs are scheduled for then. Nobody's lease is needed; whoever reads later
-- makes them ready again, or the worker that leads.
create or replace function pgmq.read(queue_name text, vt integer, qty integer, conditional jsonb default '{}')
returns setof pgmq.message_record
language plpgsql
set enable_seqscan = off
set enable_bitmapscan = off
set jit = off
set plan_cache_mode = force_generic_plan
as $$
declare
  v_queue pgmq.meta := pgmq._queue(read.queue_name);
  v_picked uuid[] := pgmq._pick(v_queue, read.qty, read.conditional);
  -- the locks have given this transaction its number by now: see penstock.raise_horizon()
  v_now timestamptz := penstock.clock();
  v_vt timestamptz := v_now + make_interval(secs => read.vt);
begin
  if cardinality(v_picked) > 0 then
    return query
      update penstock.jobs as j
         set state = case when v_vt > v_now then 'scheduled' else 'ready' end::penstock.job_state,
             run_at = v_vt, started_at = v_now, claims = j.claims + 1,
             turn = case when v_vt > v_now then j.turn else pgmq._turn(j.id) end
       where j.id = any(v_picked)
      returning pgmq._msg_id(j.id), j.claims, j.created_at, j.run_at, pgmq._message(j.id, j.args, j.options),
                j.options->'headers', j.started_at;
  end if;
end
$$;
