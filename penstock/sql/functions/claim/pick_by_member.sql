-- Picks ready jobs in a queue's line so that no member exceeds its allowance: no key of a queue with limits per key (line 0, for a
-- claimer that has locked them by lock_limits), no owner under a quota (line 1, by lock_quotas).
--
-- First a window at the head of jobs_ready, and those who lag behind it: enough as long as several members are mixed there. When
-- members that may start no more fill the window, the next five thousand jobs are searched for those of others. When there is a
-- member's backlog so far, too, a last look visits each member once (jobs_ready_by_member, a loose index scan), so a tenant with a
-- million jobs hides nobody. It walks what others have finished, as long as an old snapshot keeps that, but before long the floor
-- is past the backlog.
create or replace function penstock.pick_by_member(
  p_queue text, p_line int, p_limit int, p_floor penstock.floors, p_kinds text[], p_owner text,
  p_settings penstock.queues, p_running jsonb, p_now timestamptz
)
returns uuid[]
language plpgsql
set enable_seqscan = off
set jit = off
set enable_bitmapscan = off
set plan_cache_mode = force_generic_plan
as $$
declare
  v_window constant int := greatest(4 * p_limit, 200);
  v_times penstock.time_floors := case when p_line = 1 then penstock.time_floor() end;
  v_further constant int := 5000;
  v_late uuid[] := '{}';
  v_others uuid[];
  v_everywhere boolean := false;
  v_seen int;
  v_full_quotas text[];
  v_full_members text[];
  v_picked uuid[];
begin
  if cardinality(p_floor.lagging) > 0 then
    -- those that may go on; must use jobs_ready_by_member
    v_late := array(
      select late.id
        from (select quota, member, case when p_line = 0 then penstock.key_allowance(p_settings, member, p_running, p_now)
                                         else penstock.quota_allowance(quota, member, v_times) end as jobs
                from unnest(p_floor.lagging)
               group by quota, member) as m
        join unnest(p_floor.lagging) as l on l.quota = m.quota and l.member = m.member
        join unnest(p_floor.priorities, p_floor.turns, p_floor.ids) as mark (priority, turn, id) on mark.priority = l.priority
       cross join lateral (
         select j.id
           from penstock.jobs as j
          where j.state = 'ready' and j.queue = p_queue and coalesce(j.quota, '') = l.quota
            and (case when j.quota is null then j.limit_key else j.owner end) = l.member and j.priority = l.priority
            and (j.turn, j.id) >= (l.turn, l.id) and j.turn <= mark.turn and (j.turn, j.id) < (mark.turn, mark.id)
            and (p_kinds is null or j.kind = any(p_kinds)) and (p_owner is null or j.owner = p_owner)
          order by j.priority desc, j.turn, j.id
          limit least(p_limit, m.jobs)) as late
       where m.jobs > 0);
  end if;
  loop
    with head as materialized (
      select id, coalesce(quota, '') as quota, case when quota is null then limit_key else owner end as member, priority, turn
        from penstock.ready_past(p_queue, p_line, p_floor.priorities, p_floor.turns, p_floor.ids)
       where (p_kinds is null or kind = any(p_kinds)) and (p_owner is null or owner = p_owner)
       limit v_window
    ), found as materialized (
      select * from head
       union all
      select id, coalesce(quota, ''), case when quota is null then limit_key else owner end, priority, turn
        from penstock.jobs
       where id = any(v_late)
    ), members as materialized (
      select quota, member, count(*) as ready,
             case when p_line = 0 then penstock.key_allowance(p_settings, member, p_running, p_now)
                  else penstock.quota_allowance(quota, member, v_times) end as jobs
        from found
       where member is not null
       group by quota, member
    ), ranked as (
      select found.*, row_number() over (partition by member, quota order by priority desc, turn, id) as place
        from found
    ), fitting as (
      select ranked.id
        from ranked
        left join members as m on m.quota = ranked.quota and m.member = ranked.member
       where ranked.member is null or ranked.place <= m.jobs
       order by ranked.priority desc, ranked.turn, ranked.id
       limit p_limit
    )
    select (select count(*) from head), array(select id from fitting),
           array(select quota from members where jobs <= ready order by quota, member),
           array(select member from members where jobs <= ready order by quota, member)
      into v_seen, v_picked, v_full_quotas, v_full_members;
    exit when cardinality(v_picked) = p_limit or v_seen < v_window or v_others is not null;
    -- the next round passes over those who fill it; whoever raises the floor right now may wait for this claim
    update penstock.floors
       set crowded = true
     where queue = p_queue and line = p_line and number = (
       select number from penstock.floors
        where queue = p_queue and line = p_line and number = p_floor.number
          for update skip locked);
    select count(*), coalesce((array_agg(id) filter (where is_other))[:v_window], '{}')
      into v_seen, v_others
      from (select id, (quota is null and limit_key is null)
                       or (coalesce(quota, ''), case when quota is null then limit_key else owner end)
                          not in (select f.quota, f.member from unnest(v_full_quotas, v_full_members) as f (quota, member)) as is_other
              from penstock.ready_past(p_queue, p_line, p_floor.priorities, p_floor.turns, p_floor.ids)
             where (p_kinds is null or kind = any(p_kinds)) and (p_owner is null or owner = p_owner)
            offset v_window
             limit v_further) as further;
    v_everywhere := v_seen = v_further or cardinality(v_others) = v_window;
    v_late := v_late || v_others;
  end loop;
  if v_everywhere and cardinality(v_picked) < p_limit then
    with recursive members as (
      ((select coalesce(quota, '') as quota, case when quota is null then limit_key else owner end as member
          from penstock.jobs
         where p_line = 0 and state = 'ready' and queue = p_queue and coalesce(quota, '') = ''
           and (case when quota is null then limit_key else owner end) is not null
         order by coalesce(quota, ''), (case when quota is null then limit_key else owner end)
         limit 1)
       union all
       (select coalesce(quota, ''), case when quota is null then limit_key else owner end
          from penstock.jobs
         where p_line = 1 and state = 'ready' and queue = p_queue and coalesce(quota, '') > ''
           and (case when quota is null then limit_key else owner end) is not null
         order by coalesce(quota, ''), (case when quota is null then limit_key else owner end)
         limit 1))
      union all
      select next.quota, next.member
        from members
       cross join lateral (
         select coalesce(j.quota, '') as quota, case when j.quota is null then j.limit_key else j.owner end as member
           from penstock.jobs as j
          where j.state = 'ready' and j.queue = p_queue
            and (coalesce(j.quota, ''), (case when j.quota is null then j.limit_key else j.owner end))
                > (members.quota, members.member)
            and (case when j.quota is null then j.limit_key else j.owner end) is not null
          order by coalesce(j.quota, ''), (case when j.quota is null then j.limit_key else j.owner end)
          limit 1) as next
       where (next.quota = '') = (p_line = 0)
    ), fitting as (
      select best.*
        from members
       cross join lateral (
         select j.id, j.priority, j.turn
           from penstock.jobs as j
          where j.state = 'ready' and j.queue = p_queue and coalesce(j.quota, '') = members.quota
            and (case when j.quota is null then j.limit_key else j.owner end) = members.member
            and (p_kinds is null or j.kind = any(p_kinds)) and (p_owner is null or j.owner = p_owner)
          order by j.priority desc, j.turn, j.id
          limit least(p_limit, case when p_line = 0 then penstock.key_allowance(p_settings, members.member, p_running, p_now)
                                    else penstock.quota_allowance(members.quota, members.member, v_times) end)) as best
    )
    select array(
      select id
        from (select * from fitting
               union all
              (select id, priority, turn
                 from penstock.jobs
                where p_line = 0 and state = 'ready' and queue = p_queue and (quota is not null)::int = 0 and limit_key is null
                order by priority desc, turn, id
                limit p_limit)) as candidates
       order by priority desc, turn, id
       limit p_limit)
      into v_picked;
  end if;

  -- A cancel may hold one of them: leave it out rather than wait for it. By jobs_pkey: the state is compared as text,
  -- so that the planner cannot read all of jobs_ready instead.
  return array(
    select id from penstock.jobs where id = any(v_picked) and state::text = 'ready' order by id for update skip locked);
end
$$;
