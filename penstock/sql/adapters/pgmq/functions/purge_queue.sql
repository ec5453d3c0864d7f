create or replace function pgmq.purge_queue(queue_name text)
returns bigint
language plpgsql
as $$
begin
  return (select count(*) from pgmq._delete(pgmq._all_ids(pgmq._queue(queue_name))));
end
$$;
