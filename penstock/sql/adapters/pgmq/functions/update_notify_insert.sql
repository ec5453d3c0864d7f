create or replace function pgmq.update_notify_insert(queue_name text, throttle_interval_ms integer)
returns void
language plpgsql
as $$
declare
  v_queue pgmq.meta := pgmq._queue(update_notify_insert.queue_name);
begin
  if update_notify_insert.throttle_interval_ms < 0 then
    raise exception 'throttle_interval_ms must be non-negative, got: %', update_notify_insert.throttle_interval_ms;
  end if;
  update pgmq.notify_insert_throttle as t
     set throttle_interval_ms = update_notify_insert.throttle_interval_ms, last_notified_at = to_timestamp(0)
   where t.queue_name = v_queue.queue_name;
  if not found then
    raise exception 'Queue "%" does not have notify_insert enabled. Enable it first using pgmq.enable_notify_insert()',
      update_notify_insert.queue_name;
  end if;
end
$$;
