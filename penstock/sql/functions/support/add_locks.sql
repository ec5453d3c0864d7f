-- The locks that try_lock() is asked for, which makes none: that would wait for whoever makes the same.
create or replace function penstock.add_locks()
returns void
language sql
as $$
  insert into penstock.locks (name)
  select 'maintain' union all select 'turns ' || place from generate_series(0, 127) as place
      on conflict do nothing
$$;
