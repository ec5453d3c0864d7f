-- A fair queue's clock: the turn being served.
create or replace function penstock.turn_served(p_queue text)
returns bigint
language sql
as $$
  select turn from penstock.turns where queue = p_queue and key = '' order by turn desc limit 1
$$;
