-- Moves a fair queue's clock to the turn being served. A hint: when another claimer is moving it, leave it to them.
create or replace function penstock.advance_turn(p_queue text, p_turn bigint)
returns void
language plpgsql
as $$
declare
  v_turn bigint;
begin
  select turn into v_turn
    from penstock.turns
   where queue = p_queue and key = ''
   order by turn desc
   limit 1
     for no key update skip locked;
  if v_turn < p_turn or not exists (select from penstock.turns where queue = p_queue and key = '') then
    insert into penstock.turns (queue, key, turn) values (p_queue, '', p_turn) on conflict do nothing;
    delete from penstock.turns where queue = p_queue and key = '' and turn = v_turn;
  end if;
end
$$;
