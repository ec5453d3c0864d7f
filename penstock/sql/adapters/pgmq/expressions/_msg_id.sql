create or replace function pgmq._msg_id(p_id uuid)
returns bigint
language sql immutable parallel safe
return ('x' || right(p_id::text, 10))::bit(40)::bigint;
