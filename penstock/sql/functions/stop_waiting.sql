create or replace function penstock.stop_waiting(p_lease bigint)
returns void
language sql
as $$
  delete from penstock.waiting where lease = p_lease
$$;
