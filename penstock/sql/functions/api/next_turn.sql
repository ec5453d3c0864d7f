-- The next place in line, for a job that becomes ready: whoever comes later comes after it. The transaction gets its own number
-- before it gets the turn, and its lock on jobs, by a statement that names it: that is what lets raise_floor() know which turns
-- are still to come.
create or replace function penstock.next_turn()
returns bigint
language sql
return case when pg_current_xact_id() is not null then nextval('penstock.turn_numbers') end;
