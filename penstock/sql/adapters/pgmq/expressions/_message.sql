-- The same, wherever the arguments are.
create or replace function pgmq._message(p_id uuid, p_args jsonb, p_options jsonb)
returns jsonb
language sql stable
return pgmq._body(coalesce(p_args, penstock.payload_of(p_id)), p_options);
