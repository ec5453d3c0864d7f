-- A worker no longer waits for work: in these queues, without them in none.
create or replace function penstock.stop_waiting(p_lease bigint, p_queues text[] default null)
returns void
language sql
set enable_seqscan = off
as $$
  delete from penstock.waiting_now where lease = p_lease and (p_queues is null or queue = any(p_queues))
$$;
