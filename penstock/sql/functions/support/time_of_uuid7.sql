-- When a UUIDv7 was made, to the millisecond.
create or replace function penstock.time_of_uuid7(p_id uuid)
returns timestamptz
language sql immutable parallel safe
return to_timestamp(('x0000' || left(encode(uuid_send(p_id), 'hex'), 12))::bit(64)::bigint / 1000.0);
