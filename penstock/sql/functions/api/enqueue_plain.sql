-- One job that a client has checked already and that carries no key and waits for nothing: an INSERT and a look at who
-- waits. The general enqueue_jobs() costs several times as much.
-- With p_hand the job may be handed straight to an idle worker: it is born running, under that worker's lease, and
-- travels in the notification itself, which saves the claim. Not for a transaction that goes on: the worker might leave meanwhile.
-- Nor where a quota of its kind counts: a claim decides whether one more of its owner's may run.
create or replace function penstock.enqueue_plain(
  p_id uuid, p_kind text, p_args jsonb default '{}', p_queue text default 'default', p_priority int default 0,
  p_max_attempts int default 5, p_run_at timestamptz default null, p_delay double precision default 0,
  p_max_snoozes int default null, p_owner text default null, p_org text default null, p_limit_key text default null,
  p_options jsonb default null, p_hand boolean default false
)
returns void
language plpgsql
as $$
declare
  v_number xid8;
  v_now timestamptz;
  v_run_at timestamptz;
  v_lease bigint;
  v_notification text;
  v_large boolean := penstock.is_large(p_args);
  v_waited boolean;
  v_fair_by text;
  v_quota text;
begin
  if p_owner is not null then
    select quota into v_quota from penstock.kinds where kind = p_kind;
  end if;
  -- with the number and the lock that numbered_clock() takes: alone they would be a statement more
  select exists (select from penstock.waiting_now where queue = p_queue), (select fair_by from penstock.queues where name = p_queue),
         pg_catalog.pg_current_xact_id()
   where not exists (select from penstock.jobs where false)
    into v_waited, v_fair_by, v_number;
  v_now := penstock.clock();
  v_run_at := coalesce(p_run_at, v_now + pg_catalog.make_interval(secs => p_delay));
  if v_waited and p_hand and v_quota is null and v_run_at <= v_now then
    v_lease := penstock.hand_to(p_queue);
  end if;
  if v_lease is not null then
    -- a claimed job, by the names of its fields
    v_notification := pg_catalog.json_build_object('lease', v_lease, 'queue', p_queue, 'job', pg_catalog.json_build_object(
      'id', p_id, 'kind', p_kind, 'priority', p_priority, 'turn', 0, 'attempt', 1, 'max_attempts', p_max_attempts,
      'claims', 1, 'snoozes', 0, 'owner', p_owner, 'org', p_org, 'parent', null, 'created_at', v_now,
      'args', p_args::text, 'options', p_options::text));
    if pg_catalog.octet_length(v_notification) > 7900 then
      v_lease := null;
    end if;
  end if;
  insert into penstock.jobs (
    id, created_at, run_at, turn, state, priority, max_attempts, max_snoozes, queue, kind, owner, org, limit_key, args,
    options, quota, lease, attempt, claims, started_at)
  values (
    p_id, v_now, v_run_at,
    case when v_fair_by is null then penstock.next_turn()
         else penstock.take_turns(p_queue, case v_fair_by when 'owner' then p_owner when 'org' then p_org else p_limit_key end, 1) end,
    case when v_lease is not null then 'running' when v_run_at > v_now then 'scheduled' else 'ready' end::penstock.job_state,
    p_priority, p_max_attempts, p_max_snoozes, p_queue, p_kind, p_owner, p_org, p_limit_key,
    case when not v_large then p_args end, p_options, v_quota,
    v_lease, (v_lease is not null)::int, (v_lease is not null)::int, case when v_lease is not null then v_now end);
  if v_large then
    insert into penstock.payloads (id, owner, org, args) values (p_id, p_owner, p_org, p_args);
  end if;
  if v_lease is not null then
    perform pg_catalog.pg_notify((select hand from penstock.channels), v_notification);
  elsif v_waited then
    perform penstock.wake(p_queue);
  end if;
end
$$;
