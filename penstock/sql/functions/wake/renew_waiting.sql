-- Gives new numbers to those who have waited while many others came and went, so that waiting_since is past all of these.
create or replace function penstock.renew_waiting()
returns void
language plpgsql
set enable_seqscan = off
set enable_bitmapscan = off
as $$
declare
  v_last bigint := (select last_value from penstock.waiting_numbers);
begin
  perform from penstock.jobs where false; -- as wait_for_work()
  perform pg_catalog.pg_current_xact_id();
  update penstock.waiting
     set number = nextval('penstock.waiting_numbers')
   where number = any(array(
     select number from penstock.waiting_now where number < v_last - 200 for update skip locked));
end
$$;
