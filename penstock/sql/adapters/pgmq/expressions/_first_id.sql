-- Below the id of every message of an epoch.
create or replace function pgmq._first_id(p_beginning text)
returns uuid
language sql immutable parallel safe
return (p_beginning || '0000000000')::uuid;
