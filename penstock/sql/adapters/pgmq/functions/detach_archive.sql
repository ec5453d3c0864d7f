-- Nothing to do: what was archived is not dropped with its queue.
create or replace function pgmq.detach_archive(queue_name text)
returns void
language plpgsql
as $$
begin
  perform pgmq._queue(queue_name);
end
$$;
