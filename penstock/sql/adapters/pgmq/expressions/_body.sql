-- The message that was sent, of a job's arguments: see pgmq._args().
create or replace function pgmq._body(p_args jsonb, p_options jsonb)
returns jsonb
language sql immutable parallel safe
return case when p_options ? 'bare' then p_args->'message' else p_args end;
