-- The engine's time. A test may set penstock_clock.now; everybody else gets the real one.
create or replace function penstock.clock()
returns timestamptz
language sql volatile
return coalesce(nullif(current_setting('penstock_clock.now', true), '')::timestamptz, clock_timestamp());
