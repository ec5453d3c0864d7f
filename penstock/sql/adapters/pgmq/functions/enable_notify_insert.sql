-- From here on whoever sends says so on channel pgmq.q_<name>.INSERT, at most every throttle_interval_ms.
create or replace function pgmq.enable_notify_insert(queue_name text, throttle_interval_ms integer default 250)
returns void
language plpgsql
as $$
declare
  v_queue pgmq.meta := pgmq._queue(enable_notify_insert.queue_name);
begin
  if enable_notify_insert.throttle_interval_ms < 0 then
    raise exception 'throttle_interval_ms must be non-negative';
  end if;
  insert into pgmq.notify_insert_throttle (queue_name, throttle_interval_ms)
  values (v_queue.queue_name, enable_notify_insert.throttle_interval_ms)
      on conflict on constraint notify_insert_throttle_queue_name_key
      do update set throttle_interval_ms = excluded.throttle_interval_ms, last_notified_at = to_timestamp(0);
end
$$;
