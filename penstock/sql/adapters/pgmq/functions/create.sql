create or replace function pgmq.create(queue_name text)
returns void
language plpgsql
as $$
begin
  perform pgmq._create(queue_name, false, false);
end
$$;
