-- A UUIDv7 of this moment, for callers that bring no id of their own. PostgreSQL 18 has uuidv7(); 15 to 17 do not.
-- 48 bits of milliseconds, then 12 bits of the millisecond's fraction so that ids of one session stay in order.
create or replace function penstock.uuid7(p_at timestamptz default clock_timestamp())
returns uuid
language sql volatile
return encode(
  overlay(
    overlay(uuid_send(gen_random_uuid())
            placing substring(int8send(floor(extract(epoch from p_at) * 1000)::bigint) from 3) from 1 for 6)
    placing substring(int8send((7::bigint << 12)
            | floor(((extract(epoch from p_at) * 1000) % 1) * 4096)::bigint) from 7) from 7 for 2),
  'hex')::uuid;
