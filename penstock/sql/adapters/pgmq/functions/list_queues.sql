create or replace function pgmq.list_queues()
returns setof pgmq.queue_record
language plpgsql stable
as $$
begin
  return query select queue_name, is_partitioned, is_unlogged, created_at from pgmq.meta order by number;
end
$$;
