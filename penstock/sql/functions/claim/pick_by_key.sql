-- Picks ready jobs so that no key exceeds its allowance. First a window at the head of jobs_ready: enough as long
-- as several keys are mixed there. When one key's backlog fills the window, a second look visits each key once
-- (jobs_ready_by_key, a loose index scan), so a tenant with a million jobs hides nobody.
create or replace function penstock.pick_by_key(
  p_queue penstock.queues, p_limit int, p_priorities int[], p_turns bigint[], p_ids uuid[],
  p_running jsonb, p_now timestamptz
)
returns uuid[]
language plpgsql
as $$
declare
  v_window constant int := greatest(4 * p_limit, 200);
  v_seen int;
  v_picked uuid[];
begin
  with head as materialized (
    select * from penstock.first_ready(p_queue.name, v_window, p_priorities, p_turns, p_ids)
  ), allowance as materialized (
    select limit_key, penstock.key_allowance(p_queue, limit_key, p_running, p_now) as jobs
      from head
     where limit_key is not null
     group by limit_key
  ), ranked as (
    select head.*, row_number() over (partition by limit_key order by priority, turn, id) as place
      from head
  ), fitting as (
    select ranked.id
      from ranked
      left join allowance on allowance.limit_key = ranked.limit_key
     where ranked.limit_key is null or ranked.place <= allowance.jobs
     order by ranked.priority, ranked.turn, ranked.id
     limit p_limit
  )
  select (select count(*) from head), array(select id from fitting)
    into v_seen, v_picked;

  if cardinality(v_picked) < p_limit and v_seen = v_window then
    with recursive keys as (
      (select limit_key
         from penstock.jobs
        where state = 'ready' and quota is null and queue = p_queue.name and limit_key is not null
        order by limit_key
        limit 1)
      union all
      select (select j.limit_key
                from penstock.jobs as j
               where j.state = 'ready' and j.quota is null and j.queue = p_queue.name and j.limit_key > keys.limit_key
               order by j.limit_key
               limit 1)
        from keys
       where keys.limit_key is not null
    ), fitting as (
      select best.*
        from keys
       cross join lateral (
         select j.id, j.priority, j.turn
           from penstock.jobs as j
          where j.state = 'ready' and j.quota is null and j.queue = p_queue.name and j.limit_key = keys.limit_key
          order by j.priority, j.turn, j.id
          limit least(p_limit, penstock.key_allowance(p_queue, keys.limit_key, p_running, p_now))) as best
       where keys.limit_key is not null
    )
    select array(
      select id
        from (select * from fitting
               union all
              (select id, priority, turn
                 from penstock.jobs
                where state = 'ready' and quota is null and queue = p_queue.name and limit_key is null
                order by priority, turn, id
                limit p_limit)) as candidates
       order by priority, turn, id
       limit p_limit)
      into v_picked;
  end if;

  -- A cancel may hold one of them: leave it out rather than wait for it. By jobs_pkey: the state is compared as text,
  -- so that the planner cannot read all of jobs_ready instead.
  return array(
    select id from penstock.jobs where id = any(v_picked) and state::text = 'ready' order by id for update skip locked);
end
$$;
