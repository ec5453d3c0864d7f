-- Hides messages until vt, or shows them again. One that a worker of ours runs is that worker's.
create or replace function pgmq.set_vt(queue_name text, msg_ids bigint[], vt timestamptz)
returns setof pgmq.message_record
language plpgsql
set enable_seqscan = off
set enable_bitmapscan = off
set jit = off
set plan_cache_mode = force_generic_plan
as $$
declare
  v_queue pgmq.meta := pgmq._queue(set_vt.queue_name);
  v_ids uuid[] := array(
    select id from penstock.jobs
     where id = any(pgmq._found(v_queue, set_vt.msg_ids)) and state::text in ('scheduled', 'ready')
     order by id
       for update);
  v_now timestamptz := penstock.clock();
begin
  return query
    update penstock.jobs as j
       set state = case when set_vt.vt > v_now then 'scheduled' else 'ready' end::penstock.job_state,
           run_at = set_vt.vt,
           turn = case when set_vt.vt > v_now then j.turn else pgmq._turn(j.id) end
     where j.id = any(v_ids)
    returning pgmq._msg_id(j.id), j.claims, j.created_at, j.run_at, pgmq._message(j.id, j.args, j.options),
              j.options->'headers', j.started_at;
  if found and set_vt.vt <= v_now then
    perform penstock.wake(v_queue.queue, cardinality(v_ids));
  end if;
end
$$;

create or replace function pgmq.set_vt(queue_name text, msg_ids bigint[], vt integer)
returns setof pgmq.message_record
language plpgsql
as $$
begin
  return query select * from pgmq.set_vt(queue_name, msg_ids, penstock.clock() + make_interval(secs => vt));
end
$$;

create or replace function pgmq.set_vt(queue_name text, msg_id bigint, vt timestamptz)
returns setof pgmq.message_record
language plpgsql
as $$
begin
  return query select * from pgmq.set_vt(queue_name, array[set_vt.msg_id], set_vt.vt);
end
$$;

create or replace function pgmq.set_vt(queue_name text, msg_id bigint, vt integer)
returns setof pgmq.message_record
language plpgsql
as $$
begin
  return query select * from pgmq.set_vt(queue_name, array[set_vt.msg_id], penstock.clock() + make_interval(secs => set_vt.vt));
end
$$;
