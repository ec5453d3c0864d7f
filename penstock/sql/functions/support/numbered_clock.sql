-- The time, read when this transaction has its number and a lock on jobs: what it schedules after that, or starts, is above the floors
-- whenever it commits. See raise_horizon().
create or replace function penstock.numbered_clock()
returns timestamptz
language sql
return case when pg_current_xact_id() is not null and not exists (select from penstock.jobs where false) then penstock.clock() end;
