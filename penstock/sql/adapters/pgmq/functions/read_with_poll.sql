create or replace function pgmq.read_with_poll(
  queue_name text, vt integer, qty integer,
  max_poll_seconds integer default 5, poll_interval_ms integer default 100, conditional jsonb default '{}'
)
returns setof pgmq.message_record
language plpgsql
as $$
declare
  v_until timestamptz := clock_timestamp() + make_interval(secs => max_poll_seconds);
begin
  while clock_timestamp() < v_until loop
    return query select * from pgmq.read(queue_name, vt, qty, conditional);
    exit when found;
    perform pg_sleep(poll_interval_ms::numeric / 1000);
  end loop;
end
$$;
