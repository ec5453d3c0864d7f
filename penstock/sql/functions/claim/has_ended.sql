-- Whether nobody can make a job ready any more with a turn from before p_horizon, the number of a transaction that was seen to
-- commit or is the caller's own: all transactions with a smaller one have ended. A number that is still to come is one of another
-- server, from which this database was copied: its transactions are gone.
-- Or those that have not ended never touched jobs, which whoever takes a turn does before and holds its lock on until the end: a
-- forgotten psql that has written to another table. That costs a look at all locks (50 us and more), so not before p_noted_at is
-- a tenth of a second ago.
create or replace function penstock.has_ended(p_horizon xid8, p_noted_at timestamptz)
returns boolean
language plpgsql
as $$
begin
  if pg_snapshot_xmin(pg_current_snapshot()) >= p_horizon
     or (p_horizon >= pg_snapshot_xmax(pg_current_snapshot()) and p_horizon <> pg_current_xact_id()) then
    return true;
  end if;
  return p_noted_at < penstock.clock() - interval '100 milliseconds' and not exists (
    with held as materialized (
      select virtualtransaction, locktype, database, relation, transactionid from pg_locks where granted
    )
    select
      from held as number
      join held as touched on touched.virtualtransaction = number.virtualtransaction
     where number.locktype = 'transactionid' and age(number.transactionid) > age(p_horizon::xid)
       and touched.locktype = 'relation' and touched.relation = 'penstock.jobs'::regclass
       and touched.database = (select oid from pg_database where datname = current_database()));
end
$$;
