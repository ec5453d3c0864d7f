-- What tells the messages of a queue from other jobs of its name: the bytes of their ids between the time and the number.
create or replace function pgmq._tag(p_number int)
returns bytea
language sql immutable parallel safe
return substring(int8send((x'7000800000'::bit(40)::bigint) + p_number) from 4);
