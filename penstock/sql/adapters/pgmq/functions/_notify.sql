-- Tells those who listen that something was sent, no more often than they have asked for.
create or replace function pgmq._notify(p_queue pgmq.meta)
returns void
language plpgsql
as $$
begin
  update pgmq.notify_insert_throttle
     set last_notified_at = clock_timestamp()
   where queue_name = p_queue.queue_name
     and (throttle_interval_ms = 0
          or clock_timestamp() - last_notified_at >= throttle_interval_ms * interval '1 millisecond');
  if found then
    perform pg_notify('pgmq.q_' || p_queue.queue || '.INSERT', null);
  end if;
end
$$;
