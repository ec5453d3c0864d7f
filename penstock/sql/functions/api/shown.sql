-- The last of a job's errors in words meant to be shown: what a handler said by Fail or Cancel, and what the engine says
-- itself, but not on which machine. Of an exception's text only that there was one: it may hold SQL, paths or secrets. Who
-- took too long has a traceback, too, for the service, and may read so.
create or replace function penstock.shown(p_errors jsonb)
returns text
language sql immutable
return case
  when p_errors->-1->>'error'
         ~ '^(timed out after [0-9.e+-]+ s|did not end within [0-9.e+-]+ s, the budget of the tick that ran it)$'
    then p_errors->-1->>'error'
  when p_errors->-1 ? 'traceback' then 'it failed by an internal error'
  when p_errors->-1->>'type' = 'Parked' then 'no worker could run it'
  when p_errors->-1->>'error' like 'worker % was lost: its lease ran out' then 'its worker was lost'
  else p_errors->-1->>'error'
end;
