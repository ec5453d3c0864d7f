-- Picks ready jobs under quotas so that no owner has more running than theirs allows, for a claimer that has locked them
-- (lock_quotas). As pick_by_key(): first a window at the head of jobs_ready_quota; when one owner's backlog fills it, each owner
-- is visited once (jobs_ready_by_owner, a loose index scan).
create or replace function penstock.pick_within_quotas(p_queue text, p_limit int, p_kinds text[], p_owner text)
returns uuid[]
language plpgsql
set enable_seqscan = off
set jit = off
set enable_bitmapscan = off
set enable_hashjoin = off
set enable_mergejoin = off
set plan_cache_mode = force_generic_plan
as $$
declare
  v_window constant int := greatest(4 * p_limit, 200);
  v_seen int;
  v_picked uuid[];
begin
  with head as materialized (
    select id, quota, owner, priority, turn
      from penstock.jobs
     where state = 'ready' and quota is not null and queue = p_queue
       and (p_kinds is null or kind = any(p_kinds)) and (p_owner is null or owner = p_owner)
     order by priority, turn, id
     limit v_window
  ), allowance as materialized (
    select quota, owner, penstock.quota_allowance(quota, owner) as jobs
      from (select distinct quota, owner from head) as owners
  ), ranked as (
    select head.*, row_number() over (partition by quota, owner order by priority, turn, id) as place
      from head
  ), fitting as (
    select ranked.id
      from ranked
      join allowance on allowance.quota = ranked.quota and allowance.owner = ranked.owner
     where ranked.place <= allowance.jobs
     order by ranked.priority, ranked.turn, ranked.id
     limit p_limit
  )
  select (select count(*) from head), array(select id from fitting)
    into v_seen, v_picked;

  if cardinality(v_picked) < p_limit and v_seen = v_window then
    with recursive owners as (
      (select quota, owner
         from penstock.jobs
        where state = 'ready' and quota is not null and queue = p_queue
        order by quota, owner
        limit 1)
      union all
      select next.quota, next.owner
        from owners
       cross join lateral (
         select j.quota, j.owner
           from penstock.jobs as j
          where j.state = 'ready' and j.quota is not null and j.queue = p_queue
            and (j.quota, j.owner) > (owners.quota, owners.owner)
          order by j.quota, j.owner
          limit 1) as next
    ), fitting as (
      select best.*
        from owners
       cross join lateral (
         select j.id, j.priority, j.turn
           from penstock.jobs as j
          where j.state = 'ready' and j.quota is not null
            and j.queue = p_queue and j.quota = owners.quota and j.owner = owners.owner
            and (p_kinds is null or j.kind = any(p_kinds)) and (p_owner is null or j.owner = p_owner)
          order by j.priority, j.turn, j.id
          limit least(p_limit, penstock.quota_allowance(owners.quota, owners.owner))) as best
    )
    select array(select id from fitting order by priority, turn, id limit p_limit) into v_picked;
  end if;

  -- see pick_by_key()
  return array(
    select id from penstock.jobs where id = any(v_picked) and state::text = 'ready' order by id for update skip locked);
end
$$;
