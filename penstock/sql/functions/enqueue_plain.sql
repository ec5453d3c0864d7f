-- One job that a client has checked already and that carries no key and waits for nothing: an INSERT and a look at who
-- waits. The general enqueue_jobs() costs several times as much.
create or replace function penstock.enqueue_plain(
  p_id uuid, p_kind text, p_args jsonb default '{}', p_queue text default 'default', p_priority int default 0,
  p_max_attempts int default 5, p_run_at timestamptz default null, p_delay double precision default 0,
  p_max_snoozes int default null, p_owner text default null, p_org text default null, p_limit_key text default null,
  p_options jsonb default null
)
returns void
language plpgsql
as $$
declare
  v_now timestamptz := penstock.clock();
  v_run_at timestamptz := coalesce(p_run_at, v_now + make_interval(secs => p_delay));
begin
  insert into penstock.jobs (
    id, created_at, run_at, turn, state, priority, max_attempts, max_snoozes, queue, kind, owner, org, limit_key, args, options)
  values (
    p_id, v_now, v_run_at,
    coalesce((
      select penstock.take_turns(p_queue, case fair_by when 'owner' then p_owner when 'org' then p_org else p_limit_key end, 1)
        from penstock.queues
       where name = p_queue and fair_by is not null), 0),
    case when v_run_at > v_now then 'scheduled' else 'ready' end::penstock.job_state,
    p_priority, p_max_attempts, p_max_snoozes, p_queue, p_kind, p_owner, p_org, p_limit_key, p_args, p_options);
  if exists (select from penstock.waiting where queue = p_queue) then
    perform penstock.wake(p_queue);
  end if;
end
$$;
