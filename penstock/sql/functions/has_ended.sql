-- Whether all transactions with a smaller number have ended, for the number of one that was seen to commit or is the caller's own.
-- A number that is still to come is one of another server, from which this database was copied: its transactions are gone.
create or replace function penstock.has_ended(p_horizon xid8)
returns boolean
language sql
as $$
  select pg_snapshot_xmin(pg_current_snapshot()) >= p_horizon
      or (p_horizon >= pg_snapshot_xmax(pg_current_snapshot()) and p_horizon <> pg_current_xact_id())
$$;
