-- What the ids of a queue's messages begin with, from a moment on: a UUIDv7 with the queue's number where others have chance.
create or replace function pgmq._beginning(p_at timestamptz, p_number int)
returns text
language sql immutable parallel safe
return left(penstock.uuid7_floor(p_at)::text, 13) || '-7000-8' || left(lpad(to_hex(p_number), 5, '0'), 3) || '-' || right(lpad(to_hex(p_number), 5, '0'), 2);
