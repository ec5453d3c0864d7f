-- Gives p_jobs turns in a row to one key of a fair queue (start-time fair queueing) and returns the first: not before
-- the queue's clock, and after the key's own last turn. So a newcomer starts beside the job being served, however
-- long the others' backlog is, and a claim stays a plain scan of jobs_ready.
-- Never waits: a caller's long transaction must not hold up others who enqueue for the same key. Whoever does not get
-- the lock shares turns with the one who did.
create or replace function penstock.take_turns(p_queue text, p_key text, p_jobs int)
returns bigint
language plpgsql
as $$
declare
  v_key text := coalesce(p_key, '(none)');
  v_first bigint;
begin
  select greatest(coalesce(max(turn) filter (where key = ''), 0), coalesce(max(turn) filter (where key = v_key) + 1, 0))
    into v_first
    from penstock.turns
   where queue = p_queue and key in ('', v_key);
  -- one of 128, see add_locks()
  if penstock.try_lock('turns ' || (hashtext(p_queue || ' ' || v_key) & 127)) then
    insert into penstock.turns (queue, key, turn)
    values (p_queue, v_key, v_first + p_jobs - 1)
        on conflict (queue, key) do update set turn = greatest(turns.turn, excluded.turn);
  end if;
  return v_first;
end
$$;
