create or replace function pgmq.list_notify_insert_throttles()
returns table (queue_name text, throttle_interval_ms integer, last_notified_at timestamptz)
language plpgsql stable
as $$
begin
  return query
    select t.queue_name::text, t.throttle_interval_ms, t.last_notified_at
      from pgmq.notify_insert_throttle as t
     order by t.queue_name;
end
$$;
