-- Gives p_jobs turns in a row to one key of a fair queue (start-time fair queueing) and returns the first: not before
-- the queue's clock, and after the key's own last turn. So a newcomer starts beside the job being served, however
-- long the others' backlog is, and a claim stays a plain scan of jobs_ready.
-- Never waits: a caller's long transaction must not hold up others who enqueue for the same key. Whoever does not get
-- the lock shares turns with the one who did. The newest row of a key counts; the dead ones before it are never met.
create or replace function penstock.take_turns(p_queue text, p_key text, p_jobs int)
returns bigint
language plpgsql
as $$
declare
  v_key text := coalesce(p_key, '(none)');
  v_first bigint;
  v_last bigint;
begin
  if current_setting('transaction_isolation') <> 'read committed' then
    -- its snapshot does not tell which turn is being served
    return penstock.front_turn();
  end if;
  -- before the turns are read: see raise_floor()
  perform pg_catalog.pg_current_xact_id();
  v_last := (select turn from penstock.turns where queue = p_queue and key = v_key order by turn desc limit 1);
  v_first := greatest(penstock.turn_served(p_queue), v_last + 1);
  -- one of 128, see add_locks()
  if penstock.try_lock('turns ' || (hashtext(p_queue || ' ' || v_key) & 127)) then
    insert into penstock.turns (queue, key, turn) values (p_queue, v_key, v_first + p_jobs - 1) on conflict do nothing;
    delete from penstock.turns where queue = p_queue and key = v_key and turn = v_last and turn < v_first + p_jobs - 1;
  end if;
  return v_first;
end
$$;
