-- Moves a fair queue's clock to the turn being served. A hint: when another claimer is moving it, leave it to them.
create or replace function penstock.advance_turn(p_queue text, p_turn bigint)
returns void
language plpgsql
as $$
begin
  if pg_try_advisory_xact_lock(hashtextextended('penstock.turns ' || p_queue, 0)) then
    insert into penstock.turns (queue, key, turn)
    values (p_queue, '', p_turn)
        on conflict (queue, key) do update set turn = excluded.turn
     where turns.turn < excluded.turn;
  end if;
end
$$;
