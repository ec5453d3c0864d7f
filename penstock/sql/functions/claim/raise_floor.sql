-- Raises the floor of a queue's line to where its ready jobs begin, and returns it. An old snapshot anywhere (pg_dump, a forgotten
-- psql) keeps every taken job in the indexes as a dead entry, which whoever looks from the beginning walks over; past the floor
-- there are only those of the last moments.
--
-- Nothing may ever become ready below it, or nobody would find it: it is raised no further than turns are settled (raise_horizon).
-- A claim that is under way, and may be rolled back, leaves its jobs visible as ready here. In a fair queue turns are not given in
-- order, but none before the one being served: that is noted here, and settled with the next horizon that was noted later.
--
-- The marks are as those of a cursor, see pick_ready(). Where members (keys, owners under a quota) have limits, one that is at its
-- limit would hold the floor of all: who has kept a mark where it was since the last round, or fills the window that claims look
-- at (crowded), is named as lagging, with a mark of its own, and its jobs are passed over. They are found by jobs_ready_by_member,
-- from their mark up to that of their priority.
--
-- Whoever comes while another raises the floor leaves it to them.
create or replace function penstock.raise_floor(p_queue text, p_line int default 0)
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
  v_most_lagging constant int := 64;
  v_most_passed constant int := 5000;
  v_settings penstock.queues;
  v_members boolean;
  v_fair boolean;
  v_turn bigint;
  v_horizon penstock.horizons;
  v_old penstock.floors;
  v_new penstock.floors;
  v_above bigint := 2147483648;
  v_next int;
  v_mark record;
  v_found record;
  v_lagging penstock.laggard[];
begin
  -- in any other isolation the snapshot is an old one itself
  if current_setting('transaction_isolation') <> 'read committed' then
    return penstock.floor_of(p_queue, p_line);
  end if;
  select * into v_horizon from penstock.horizons order by number desc limit 1;
  if v_horizon.raised_at between penstock.clock() - interval '50 milliseconds' and penstock.clock() is not true then
    v_horizon := penstock.raise_horizon();
  end if;
  select * into v_settings from penstock.queues where name = p_queue;
  v_members := p_line = 1 or coalesce(v_settings.max_running_per_key, v_settings.rate_per_key) is not null;
  v_fair := v_settings.fair_by is not null;
  if v_fair then
    -- before the number of this round, so that a horizon with a higher one was noted later
    v_turn := penstock.turn_served(p_queue) - 1;
  end if;
  select * into v_old from penstock.floors where queue = p_queue and line = p_line order by number desc limit 1
     for update skip locked;
  if not found and exists (select from penstock.floors where queue = p_queue and line = p_line) then
    return penstock.floor_of(p_queue, p_line);
  end if;
  v_new := v_old;
  v_new.queue := p_queue;
  v_new.line := p_line;
  v_new.number := nextval('penstock.floor_numbers');
  v_new.raised_at := penstock.clock();
  v_new.fair := v_fair;
  v_new.crowded := false;
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
  if cardinality(v_old.lagging) > 0 and not v_members then
    v_old.priorities := '{}'; -- its limits are gone, and nobody looks for them any more
  end if;

  v_new.priorities := '{}';
  v_new.turns := '{}';
  v_new.ids := '{}';
  v_new.lagging := '{}';
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
         where state = 'ready' and queue = p_queue and (quota is not null)::int = p_line
           and priority < v_above and priority > coalesce(v_mark.priority, -2147483649)
         order by priority desc, turn, id
         limit 1);
      exit when v_next is null;
      select turn, id
        into v_found
        from penstock.jobs
       where state = 'ready' and queue = p_queue and (quota is not null)::int = p_line and priority = v_next and turn >= 0
       order by priority desc, turn, id
       limit 1;
      v_new.priorities := v_new.priorities || v_next;
      v_new.turns := v_new.turns || least(v_found.turn, coalesce(v_new.settled, -1) + 1);
      v_new.ids := v_new.ids || case when v_found.turn <= v_new.settled then v_found.id else v_nobody end;
      v_above := v_next;
    end loop;
    exit when v_mark.priority is null;
    v_lagging := '{}';
    if cardinality(v_old.lagging) > 0 then
      -- who still is; must use jobs_ready_by_member
      v_lagging := array(
        select (l.quota, l.member, l.priority, still.turn, still.id)::penstock.laggard
          from unnest(v_old.lagging) as l
         cross join lateral (
           select turn, id from penstock.jobs
            where state = 'ready' and queue = p_queue and coalesce(quota, '') = l.quota
              and (case when quota is null then limit_key else owner end) = l.member and priority = l.priority
              and (turn, id) >= (l.turn, l.id) and turn <= v_mark.turn and (turn, id) < (v_mark.turn, v_mark.id)
            order by priority desc, turn, id
            limit 1) as still
         where l.priority = v_mark.priority);
    end if;
    select turn, id, coalesce(quota, '') as quota, case when quota is null then limit_key else owner end as member
      into v_found
      from penstock.jobs
     where state = 'ready' and queue = p_queue and (quota is not null)::int = p_line
       and priority = v_mark.priority and (turn, id) >= (v_mark.turn, v_mark.id)
     order by priority desc, turn, id
     limit 1;
    if v_members and v_found.member is not null and v_found.turn <= v_new.settled then
      if v_old.crowded or (v_found.turn, v_found.id) = (v_mark.turn, v_mark.id) then
        v_lagging := v_lagging || array(
          select (first.quota, first.member, v_mark.priority, first.turn, first.id)::penstock.laggard
            from (select distinct on (quota, member) quota, member, turn, id
                    from (select coalesce(quota, '') as quota, case when quota is null then limit_key else owner end as member,
                                 turn, id
                            from penstock.jobs
                           where state = 'ready' and queue = p_queue and (quota is not null)::int = p_line
                             and priority = v_mark.priority and (turn, id) >= (v_mark.turn, v_mark.id)
                           order by priority desc, turn, id
                           limit case when v_old.crowded then 200 else 1 end) as head
                   where member is not null and turn <= v_new.settled
                   order by quota, member, turn, id) as first
           where (first.quota, first.member) not in (select l.quota, l.member from unnest(v_lagging) as l)
           order by first.turn, first.id
           limit v_most_lagging - cardinality(v_new.lagging) - cardinality(v_lagging));
      end if;
      if cardinality(v_lagging) > 0 then
        -- the first of somebody else; a long backlog is passed over in several rounds
        select turn, id
          into v_found
          from (select turn, id, coalesce(quota, '') as quota, case when quota is null then limit_key else owner end as member,
                       row_number() over (order by priority desc, turn, id) as place
                  from penstock.jobs
                 where state = 'ready' and queue = p_queue and (quota is not null)::int = p_line
                   and priority = v_mark.priority and (turn, id) >= (v_mark.turn, v_mark.id)
                 order by priority desc, turn, id
                 limit v_most_passed) as passed
         where turn > v_new.settled or member is null or place = v_most_passed
            or (quota, member) not in (select l.quota, l.member from unnest(v_lagging) as l)
         order by place
         limit 1;
      end if;
    end if;
    v_new.lagging := v_new.lagging || v_lagging;
    v_new.priorities := v_new.priorities || v_mark.priority;
    v_new.turns := v_new.turns || least(v_found.turn, coalesce(v_new.settled, -1) + 1);
    v_new.ids := v_new.ids || case when v_found.turn <= v_new.settled then v_found.id else v_nobody end;
    v_above := v_mark.priority;
  end loop;

  insert into penstock.floors select v_new.*;
  delete from penstock.floors where queue = p_queue and line = p_line and number = v_old.number;
  return v_new;
end
$$;
