-- An idle worker asks to be woken: it calls this on the connection that LISTENs to penstock.wake, claims
-- once more, then sleeps. A row promises "I have a free slot and will claim when told".
create or replace function penstock.wait_for_work(p_lease bigint, p_queues text[], p_backend int default pg_backend_pid())
returns void
language sql
as $$
  insert into penstock.waiting (queue, lease, backend)
  select name, p_lease, p_backend
    from unnest(p_queues) as name
      on conflict (queue, lease) do update set backend = excluded.backend
$$;
