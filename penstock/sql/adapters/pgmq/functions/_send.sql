-- Enqueues messages, all with the same delay, and returns their numbers.
create or replace function pgmq._send(p_queue_name text, p_messages jsonb[], p_headers jsonb[], p_vt timestamptz)
returns bigint[]
language plpgsql
set enable_seqscan = off
set plan_cache_mode = force_generic_plan
as $$
declare
  -- before the time is read: see penstock.raise_horizon()
  v_transaction xid8 := pg_current_xact_id();
  v_now timestamptz := penstock.clock();
  v_queue pgmq.meta := pgmq._queue(p_queue_name);
  v_state penstock.job_state := case when p_vt > v_now then 'scheduled' else 'ready' end;
  v_epoch pgmq.epochs;
  v_numbers regclass := format('pgmq.%I', 'q_' || v_queue.queue || '_msg_id_seq')::regclass;
  v_sent bigint[];
  v_fair boolean;
  v_waited boolean;
  v_told boolean;
  v_large boolean;
  v_turn bigint;
begin
  -- before the numbers are taken: those of later messages are higher than the first of their epoch
  select * into v_epoch from pgmq.epochs where number = v_queue.number order by first_msg_id desc limit 1;
  v_sent := array(select nextval(v_numbers) from generate_series(1, cardinality(p_messages)));
  if v_epoch.began_at > v_now - interval '1 hour' is not true then
    v_epoch := pgmq._begin_epoch(v_queue, v_sent[1], v_now);
  end if;
  select exists (select from penstock.queues where name = v_queue.queue and fair_by is not null),
         exists (select from penstock.waiting_now where queue = v_queue.queue),
         exists (select from pgmq.notify_insert_throttle where queue_name = v_queue.queue_name),
         exists (select from unnest(p_messages || p_headers) as part where pg_column_size(part) > 480)
    into v_fair, v_waited, v_told, v_large;
  -- see penstock.new_job(): deeper than the readers of any worker go
  if v_large and exists (select from unnest(p_messages || p_headers) as part where part @? '$.**{500 to last}') then
    raise exception 'msg: is nested more than 500 deep' using errcode = 'PS001';
  end if;
  if v_fair then
    v_turn := penstock.take_turns(v_queue.queue, null, cardinality(p_messages));
  end if;
  insert into penstock.jobs (id, created_at, run_at, turn, state, queue, kind, args, options)
  select pgmq._job_id(v_epoch.beginning, s.msg_id), v_now, p_vt,
         case when v_fair then v_turn + s.place - 1 else penstock.next_turn() end,
         v_state, v_queue.queue, v_queue.queue,
         case when not (v_large and penstock.is_large(pgmq._args(s.message))) then pgmq._args(s.message) end,
         pgmq._options(s.message, s.headers)
    from unnest(v_sent, p_messages, p_headers) with ordinality as s (msg_id, message, headers, place);
  if v_large then
    insert into penstock.payloads (id, args)
    select pgmq._job_id(v_epoch.beginning, s.msg_id), pgmq._args(s.message)
      from unnest(v_sent, p_messages) as s (msg_id, message)
     where penstock.is_large(pgmq._args(s.message));
  end if;
  if v_waited then
    perform penstock.wake(v_queue.queue, cardinality(p_messages));
  end if;
  if v_told then
    perform pgmq._notify(v_queue);
  end if;
  return v_sent;
end
$$;
