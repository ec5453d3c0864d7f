-- As any other queue, and listed as unlogged.
create or replace function pgmq.create_unlogged(queue_name text)
returns void
language plpgsql
as $$
begin
  perform pgmq._create(queue_name, false, true);
end
$$;
