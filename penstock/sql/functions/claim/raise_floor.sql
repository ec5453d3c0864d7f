-- Raises the floor of a queue to where its ready jobs begin, and returns it. An old snapshot anywhere (pg_dump, a forgotten psql)
-- keeps every taken job in the indexes as a dead entry, which whoever looks from the beginning walks over; past the floor there
-- are only those of the last moments.
--
-- Nothing may ever become ready below it, or nobody would find it: it is raised no further than turns are settled (raise_horizon).
-- A claim that is under way, and may be rolled back, leaves its jobs visible as ready here. In a fair queue turns are not given in
-- order, but none before the one being served: that is noted here, and settled with the next horizon that was noted later.
--
-- The marks are as those of a cursor, see pick_ready(). Whoever comes while another raises the floor leaves it to them.
create or replace function penstock.raise_floor(p_queue text)
returns penstock.floors
language plpgsql
set enable_seqscan = off
set enable_bitmapscan = off
set enable_sort = off
set jit = off
set plan_cache_mode = force_generic_plan
as $$
declare
  v_nobody constant uuid := '00000000-0000-0000-0000-000000000000';
  v_fair boolean := exists (select from penstock.queues where name = p_queue and fair_by is not null);
  v_horizon penstock.horizons;
  v_old penstock.floors;
  v_new penstock.floors;
  -- before the number of this round, so that a horizon with a higher one was noted later
  v_turn bigint := case when v_fair then penstock.turn_served(p_queue) - 1 end;
  v_above bigint := -2147483649;
  v_next int;
  v_mark record;
  v_found record;
begin
  select * into v_old from penstock.floors where queue = p_queue order by number desc limit 1 for update skip locked;
  -- in any other isolation the snapshot is an old one itself
  if not found and exists (select from penstock.floors where queue = p_queue)
     or current_setting('transaction_isolation') <> 'read committed' then
    return penstock.floor_of(p_queue);
  end if;
  select * into v_horizon from penstock.horizons order by number desc limit 1;
  v_new := v_old;
  v_new.queue := p_queue;
  v_new.number := nextval('penstock.floor_numbers');
  v_new.raised_at := penstock.clock();
  v_new.fair := v_fair;
  if v_old.fair is distinct from v_fair then
    -- turns of another kind, but for what is under way
    v_old.priorities := '{}';
    v_new.settled := null;
    v_new.noted := v_new.number;
    v_new.noted_turn := v_turn;
  elsif v_horizon.settled > v_old.noted and v_fair then
    v_new.settled := v_old.noted_turn;
    v_new.noted := v_new.number;
    v_new.noted_turn := v_turn;
  elsif v_horizon.settled > v_old.noted then
    v_new.settled := v_horizon.settled_turn;
  end if;

  v_new.priorities := '{}';
  v_new.turns := '{}';
  v_new.ids := '{}';
  for v_mark in
    select priority, turn, id
      from unnest(v_old.priorities, v_old.turns, v_old.ids) as m (priority, turn, id)
     -- too many: begin anew, with those that have jobs now
     where cardinality(v_old.priorities) < 32
    union all
    select null, null, null
  loop
    -- priorities without a mark, before this one
    while cardinality(v_new.priorities) < 32 loop
      v_next := (
        select priority from penstock.jobs
         where state = 'ready' and quota is null and queue = p_queue
           and priority > v_above and priority < coalesce(v_mark.priority, 2147483648)
         order by priority, turn, id
         limit 1);
      exit when v_next is null;
      select turn, id
        into v_found
        from penstock.jobs
       where state = 'ready' and quota is null and queue = p_queue and priority = v_next and turn >= 0
       order by priority, turn, id
       limit 1;
      v_new.priorities := v_new.priorities || v_next;
      v_new.turns := v_new.turns || least(v_found.turn, coalesce(v_new.settled, -1) + 1);
      v_new.ids := v_new.ids || case when v_found.turn <= v_new.settled then v_found.id else v_nobody end;
      v_above := v_next;
    end loop;
    exit when v_mark.priority is null;
    select turn, id
      into v_found
      from penstock.jobs
     where state = 'ready' and quota is null and queue = p_queue
       and priority = v_mark.priority and (turn, id) >= (v_mark.turn, v_mark.id)
     order by priority, turn, id
     limit 1;
    v_new.priorities := v_new.priorities || v_mark.priority;
    v_new.turns := v_new.turns || least(v_found.turn, coalesce(v_new.settled, -1) + 1);
    v_new.ids := v_new.ids || case when v_found.turn <= v_new.settled then v_found.id else v_nobody end;
    v_above := v_mark.priority;
  end loop;

  insert into penstock.floors select v_new.*;
  delete from penstock.floors where queue = p_queue and number = v_old.number;
  return v_new;
end
$$;
