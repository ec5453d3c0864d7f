-- One job that a client has checked already and that carries no key and waits for nothing: an INSERT and a look at who
-- waits. The general enqueue_jobs() costs three times as much.
create or replace function penstock.enqueue_plain(
  p_id uuid, p_kind text, p_args jsonb, p_queue text, p_priority int, p_max_attempts int,
  p_run_at timestamptz, p_delay double precision, p_max_snoozes int, p_owner text, p_org text, p_limit_key text, p_options jsonb
)
returns void
language plpgsql
as $$
declare
  v_now timestamptz := penstock.clock();
  v_run_at timestamptz := coalesce(p_run_at, v_now + make_interval(secs => coalesce(p_delay, 0)));
  v_turn bigint := 0;
  v_fair_by text;
begin
  select fair_by into v_fair_by from penstock.queues where name = p_queue;
  if v_fair_by is not null then
    v_turn := penstock.take_turns(p_queue,
      case v_fair_by when 'owner' then p_owner when 'org' then p_org else p_limit_key end, 1);
  end if;
  insert into penstock.jobs (
    id, created_at, run_at, turn, state, priority, max_attempts, max_snoozes, queue, kind, owner, org, limit_key, args, options)
  values (
    p_id, v_now, v_run_at, v_turn, case when v_run_at > v_now then 'scheduled' else 'ready' end::penstock.job_state,
    p_priority, p_max_attempts, p_max_snoozes, p_queue, p_kind, p_owner, p_org, p_limit_key, p_args, p_options);
  if exists (select from penstock.waiting where queue = p_queue) then
    perform penstock.wake(p_queue);
  end if;
end
$$;
