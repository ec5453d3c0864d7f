create or replace function pgmq._tag_of(p_id uuid)
returns bytea
language sql immutable parallel safe
return substring(uuid_send(p_id) from 7 for 5);
