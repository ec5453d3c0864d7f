-- Moves a fair queue's clock to the turn being served. A hint: when another claimer is moving it, leave it to them.
create or replace function penstock.advance_turn(p_queue text, p_turn bigint)
returns void
language plpgsql
as $$
begin
  perform from penstock.turns where queue = p_queue and key = '' and turn < p_turn for no key update skip locked;
  if found then
    update penstock.turns set turn = p_turn where queue = p_queue and key = '' and turn < p_turn;
  elsif not exists (select from penstock.turns where queue = p_queue and key = '') then
    insert into penstock.turns (queue, key, turn) values (p_queue, '', p_turn) on conflict do nothing;
  end if;
end
$$;
