-- Claims the best p_limit ready jobs of a queue for a lease, and returns them in no particular order. The marks are the claimer's cursor (see
-- pick_ready); without them the look is complete: from the queue's floor, which is raised here now and then.
-- The update goes by an array of ids, hence by jobs_pkey: joined to a subquery it fell to 9k/s at batch 100, because
-- the planner chose a hash join over a sequential scan. One plan for all calls: making one for each took 90 of 220 us.
-- 500 jobs of 10 KB are more than the usual work_mem: through a file they took a fifth longer.
create or replace function penstock.claim(
  p_lease bigint, p_queue text, p_limit int default 1,
  p_priorities int[] default null, p_turns bigint[] default null, p_ids uuid[] default null,
  p_kinds text[] default null, p_owner text default null
)
returns table (
  id uuid, kind text, priority int, turn bigint, attempt int, max_attempts int, claims int, snoozes int,
  owner text, org text, parent uuid, created_at timestamptz, args text, options text
)
language plpgsql
set enable_seqscan = off
set jit = off
set work_mem = '32MB'
set enable_bitmapscan = off
set plan_cache_mode = force_generic_plan
as $$
#variable_conflict use_column
declare
  v_now timestamptz := penstock.clock();
  v_queue penstock.queues;
  v_floor penstock.floors;
  v_quota_floor penstock.floors;
  v_picked uuid[];
  v_alive boolean;
  v_under_quota boolean;
  v_first uuid;
  v_last uuid;
begin
  -- most queues have nothing under quotas, and no floor of them
  select exists (select from penstock.leases where id = p_lease),
         exists (select from penstock.floors where queue = p_queue and line = 1)
         or exists (select from penstock.jobs where state = 'ready' and queue = p_queue and (quota is not null)::int = 1)
    into v_alive, v_under_quota;
  if not v_alive then
    raise exception 'lease % is gone: open a new one', p_lease using errcode = 'PS004';
  end if;
  select * into v_queue from penstock.queues where name = p_queue;
  -- floors are raised before anything is locked
  if v_queue.limited or coalesce(cardinality(p_priorities), 0) = 0 then
    select * into v_floor from penstock.floors where queue = p_queue and line = 0 order by number desc limit 1;
    if v_floor.raised_at between v_now - interval '50 milliseconds' and v_now is not true then
      v_floor := penstock.raise_floor(p_queue);
      if v_queue.limited then
        perform penstock.raise_time_floor();
      end if;
    end if;
  else
    v_floor.priorities := p_priorities;
    v_floor.turns := p_turns;
    v_floor.ids := p_ids;
  end if;
  if v_under_quota then
    select * into v_quota_floor from penstock.floors where queue = p_queue and line = 1 order by number desc limit 1;
    if v_quota_floor.raised_at between v_now - interval '50 milliseconds' and v_now is not true then
      v_quota_floor := penstock.raise_floor(p_queue, 1);
      perform penstock.raise_time_floor();
    end if;
    v_under_quota := penstock.under_quota(p_queue);
  end if;
  if v_under_quota then
    perform penstock.lock_quotas();
  end if;
  if v_queue.limited then
    perform penstock.lock_limits(p_queue);
    -- while it waited, time went on and the limits may have changed
    v_now := penstock.clock();
    select * into v_queue from penstock.queues where name = p_queue;
  end if;
  if v_queue.paused then
    return;
  end if;
  if cardinality(v_floor.lagging) > 0 and v_queue.max_running_per_key is null and v_queue.rate_per_key is null then
    v_floor := null; -- the limits have just gone: a look everywhere
  end if;
  if v_queue.limited then
    v_picked := penstock.pick_limited(v_queue, p_limit, v_floor, p_kinds, p_owner, v_now, v_under_quota, v_quota_floor);
  else
    v_picked := penstock.pick_ready(p_queue, p_limit, v_floor.priorities, v_floor.turns, v_floor.ids, p_kinds, p_owner);
    if v_under_quota then
      v_picked := penstock.best_of(
        v_picked || penstock.pick_by_member(p_queue, 1, p_limit, v_quota_floor, p_kinds, p_owner, v_queue, null, v_now), p_limit);
    end if;
  end if;
  if cardinality(v_picked) = 0 then
    return;
  end if;
  -- it stays until the claim is committed: whoever ends it finds these jobs
  perform from penstock.leases where id = p_lease for key share;
  if not found then
    raise exception 'lease % is gone: open a new one', p_lease using errcode = 'PS004';
  end if;
  if not coalesce(v_queue.limited, false) then
    -- a lock has given this transaction its number by now: see raise_horizon()
    v_now := penstock.clock();
  end if;
  if v_queue.fair_by is not null then
    perform penstock.advance_turn(p_queue, (select max(j.turn) from penstock.jobs as j where j.id = any(v_picked)));
  end if;
  if cardinality(v_picked) > 8 and (select j.args is null from penstock.jobs as j where j.id = v_picked[1]) then
    -- The bounds prune payloads to a partition or two, but all are locked for it, which alone makes a claim of one job 4 %
    -- dearer; and to look each of 500 up by itself takes 40 us a job instead of 33. So what follows is there twice: small
    -- arguments, and few jobs, pay nothing for it.
    select id into v_first from unnest(v_picked) as id order by id limit 1;
    select id into v_last from unnest(v_picked) as id order by id desc limit 1;
    return query
      update penstock.jobs as j
         set state = 'running', lease = p_lease, attempt = j.attempt + 1,
             -- looking for watched jobs in a statement of its own cost every claim 3 %, this nothing
             claims = j.claims + 1 + case when j.watched then penstock.tell_it_runs(j.id) else 0 end,
             started_at = v_now, counted = coalesce(v_queue.limited, false) or j.quota is not null
       where j.id = any(v_picked)
      returning j.id, j.kind, j.priority, j.turn, j.attempt, j.max_attempts, j.claims, j.snoozes,
                j.owner, j.org, j.parent, j.created_at,
                coalesce(j.args::text, (select p.args::text from penstock.payloads as p
                                         where p.id = j.id and p.id between v_first and v_last)), j.options::text;
    return;
  end if;
  return query
    update penstock.jobs as j
       set state = 'running', lease = p_lease, attempt = j.attempt + 1,
           -- looking for watched jobs in a statement of its own cost every claim 3 %, this nothing
           claims = j.claims + 1 + case when j.watched then penstock.tell_it_runs(j.id) else 0 end,
           started_at = v_now, counted = coalesce(v_queue.limited, false) or j.quota is not null
     where j.id = any(v_picked)
    returning j.id, j.kind, j.priority, j.turn, j.attempt, j.max_attempts, j.claims, j.snoozes,
              j.owner, j.org, j.parent, j.created_at, coalesce(j.args::text, penstock.payload_text(j.id)), j.options::text;
end
$$;
