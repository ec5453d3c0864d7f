create or replace function pgmq.create_non_partitioned(queue_name text)
returns void
language plpgsql
as $$
begin
  perform pgmq._create(queue_name, false, false);
end
$$;
