-- The smallest UUIDv7 of a moment: bounds of history's partitions. There is none before 1970, nor after the 48 bits of
-- milliseconds that it has: whatever is later, infinity too, is as the last of them.
create or replace function penstock.uuid7_floor(p_at timestamptz)
returns uuid
language sql immutable strict parallel safe
return (encode(substring(int8send(least(greatest(floor(extract(epoch from p_at) * 1000), 0), 281474976710655)::bigint) from 3), 'hex')
        || '00000000000000000000')::uuid;
