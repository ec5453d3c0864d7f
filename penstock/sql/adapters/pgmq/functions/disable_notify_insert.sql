create or replace function pgmq.disable_notify_insert(queue_name text)
returns void
language plpgsql
as $$
declare
  v_queue pgmq.meta := pgmq._queue(disable_notify_insert.queue_name);
begin
  delete from pgmq.notify_insert_throttle as t where t.queue_name = v_queue.queue_name;
end
$$;
