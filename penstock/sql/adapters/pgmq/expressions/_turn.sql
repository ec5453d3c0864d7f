-- The turn of a message that is visible again: before those that nobody has read yet, in the order of their numbers. See
-- penstock.front_turn().
create or replace function pgmq._turn(p_id uuid)
returns bigint
language sql immutable parallel safe
return pgmq._msg_id(p_id) - 4611686018427387904;
