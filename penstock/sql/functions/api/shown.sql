-- The last of a job's errors in words meant to be shown: what a handler said by Fail or Cancel, and what the engine says
-- itself, but not on which machine. Of an exception's text only that there was one: it may hold SQL, paths or secrets.
create or replace function penstock.shown(p_errors jsonb)
returns text
language sql immutable
return case
  when p_errors->-1 ? 'traceback' then 'it failed by an internal error'
  when p_errors->-1->>'type' = 'Parked' then 'no worker could run it'
  when p_errors->-1->>'error' like 'worker % was lost: its lease ran out' then 'its worker was lost'
  else p_errors->-1->>'error'
end;
