-- How many more jobs of one key a queue's limits allow to start. p_running tells how many of each key run.
create or replace function penstock.key_allowance(p_queue penstock.queues, p_key text, p_running jsonb, p_now timestamptz)
returns int
language plpgsql stable
set enable_seqscan = off
set jit = off
set enable_bitmapscan = off
as $$
declare
  v_left int := 2147483647;
begin
  if p_queue.max_running_per_key is not null then
    v_left := p_queue.max_running_per_key - coalesce((p_running->>p_key)::int, 0);
  end if;
  if p_queue.rate_per_key is not null then
    v_left := least(v_left,
      penstock.starts_left(p_queue.name, p_key, p_queue.rate_per_key, p_queue.rate_period, p_now));
  end if;
  return greatest(v_left, 0);
end
$$;
