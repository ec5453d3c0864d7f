create or replace function pgmq.pop(queue_name text, qty integer default 1)
returns setof pgmq.message_record
language plpgsql
as $$
begin
  return query select * from pgmq._delete(pgmq._pick(pgmq._queue(queue_name), qty, '{}'));
end
$$;
