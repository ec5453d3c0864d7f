create or replace function penstock.stop_waiting(p_lease bigint, p_queues text[] default null)
returns void
language sql
as $$
  delete from penstock.waiting where lease = p_lease and (p_queues is null or queue = any(p_queues))
$$;
