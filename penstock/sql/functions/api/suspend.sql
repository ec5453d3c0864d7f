-- A running job leaves its worker until what it waits for is there, at no cost of an attempt. p_step is what it waits for:
--   {"name": ..., "kind": "sleep", "seconds": n} or "until": a time
--   {"name": ..., "kind": "call"}, with p_calls: it calls these
--   {"name": ..., "kind": "event" | "approval", "event": ..., "key": ..., "timeout": seconds or null, ...}
-- and "number" and "version" as in steps; whatever else it has is remembered with it. What the step remembers already stays: a
-- job that is suspended again waits for the rest.
-- Returns what became of it, and, when it need not wait, what the step remembers: then it still runs. No row: it is no longer
-- the caller's.
create or replace function penstock.suspend(
  p_lease bigint, p_id uuid, p_claims int, p_step jsonb, p_calls jsonb default null, p_progress jsonb default null
)
returns table (state penstock.job_state, run_at timestamptz, output jsonb)
language plpgsql
set enable_seqscan = off
set jit = off
set enable_bitmapscan = off
as $$
#variable_conflict use_column
declare
  v_now timestamptz;
  v_name text := p_step->>'name';
  v_kind text := p_step->>'kind';
  v_waits boolean := p_step ? 'event';
  v_new boolean;
  v_job penstock.jobs;
begin
  -- those that ran beside each other have no number, nor has what comes after them: they are counted
  if (p_step->>'number')::int > 10000
     or p_step->>'number' is null
        and (select count(*) from (select from penstock.steps where job = p_id limit 10000) as s) = 10000 then
    raise exception 'step %: is the %th of its job; call jobs instead of so many steps', v_name, coalesce(p_step->>'number', '10001')
      using errcode = 'PS001';
  elsif pg_column_size(p_step) > 1048576 then
    raise exception 'step %: what it asks is over 1 MiB; put the bytes into an artifact and pass its path', v_name
      using errcode = 'PS003';
  -- what is half said would be read by everybody who looks at what waits
  elsif v_kind = 'sleep' and not p_step ?| '{seconds,until}' then
    raise exception 'seconds: a sleep needs them, or until' using errcode = 'PS001';
  elsif v_kind in ('event', 'approval') and not v_waits then
    raise exception 'event: is needed' using errcode = 'PS001';
  elsif v_waits and (v_kind = 'approval') <> (p_step->>'event' = penstock.own_name('approval')) then
    raise exception 'event: % is that of approvals, and of nothing else', penstock.own_name('approval') using errcode = 'PS001';
  elsif v_kind = 'approval' and not coalesce(p_step->>'key' ~ ('^' || p_id || ' [0-9a-f-]{36}$'), false) then
    raise exception 'key: that of an approval is the job''s id and a UUID' using errcode = 'PS001';
  elsif v_kind = 'approval'
        and not coalesce(p_step->'about'->>'question' <> '' and p_step->'about'->>'by' in ('operator', 'owner'), false) then
    raise exception 'about: must have a question, and by: operator or owner' using errcode = 'PS001';
  elsif v_kind = 'call'
        and (not p_step ? 'ids'
             or lower((p_step->'ids')::text)
                is distinct from (select lower(jsonb_agg(each->>'id')::text) from jsonb_array_elements(p_calls) as each)) then
    raise exception 'ids: must be those of calls, in their order' using errcode = 'PS001';
  end if;
  if v_waits then
    perform penstock.lock_mailbox(p_step->>'event', coalesce(p_step->>'key', ''));
  end if;
  if p_progress is not null then
    perform penstock.report_progress(p_lease, array[p_id], array[p_claims], jsonb_build_array(p_progress));
  end if;
  perform penstock.lock_flows(array[p_id]);
  select * into v_job from penstock.jobs where id = p_id and claims = p_claims and lease = p_lease for update;
  if not found then
    return;
  end if;
  -- while it waited for the locks, time went on
  v_now := penstock.clock();

  output := p_step - '{name,kind,number,version,seconds,timeout}'::text[]
    || case when p_step ? 'seconds' then jsonb_build_object('until', v_now + make_interval(secs => (p_step->>'seconds')::float8))
            when p_step->>'timeout' is not null
            then jsonb_build_object('until', v_now + make_interval(secs => (p_step->>'timeout')::float8))
            else '{}' end;
  insert into penstock.steps (job, name, kind, number, version, output, done_at)
  values (p_id, v_name, v_kind, (p_step->>'number')::int, (p_step->>'version')::int, output, v_now)
      on conflict (job, name) do nothing;
  v_new := found;
  if not v_new then
    select s.output into output from penstock.steps as s where s.job = p_id and s.name = v_name;
  end if;

  if v_job.cancel_requested then
    state := 'cancelled';
    output := null;
    perform penstock.finish(array[p_id], 'cancelled', jsonb_build_object(p_id, jsonb_build_object(
      'at', v_now, 'attempt', v_job.attempt, 'error', 'cancelled')));
    perform penstock.settle(array[p_id]);
    return next;
    return;
  end if;

  run_at := coalesce((output->>'until')::timestamptz, 'infinity');
  if v_waits then
    if not output ? 'emitted_at' then
      output := output || coalesce(penstock.take_event(p_step->>'event', coalesce(p_step->>'key', '')), '{}');
    end if;
    if output ? 'emitted_at' or run_at <= v_now then
      output := output || case when output ? 'emitted_at' then '{}' else '{"timed_out": true}' end::jsonb;
      update penstock.steps as s set output = suspend.output where s.job = p_id and s.name = v_name;
      delete from penstock.waits where job = p_id and step = v_name;
      state := 'running';
      run_at := null;
      return next;
      return;
    end if;
    insert into penstock.waits (job, step, event, key, since)
    values (p_id, v_name, p_step->>'event', coalesce(p_step->>'key', ''), v_now)
        on conflict do nothing;
    v_job.waiting_on := 1;
    state := case when run_at = 'infinity' then 'blocked' else 'scheduled' end;
    if state = 'blocked' and v_job.rollup is not null then
      -- a child that was retried by hand may have ended while this ran, booked by nobody, and cancel() would wait for that
      v_job.rollup := v_job.rollup || (
        select jsonb_build_object(
                 'succeeded', count(*) filter (where h.state = 'succeeded'),
                 'failed', count(*) filter (where h.state = 'failed'),
                 'cancelled', count(*) filter (where h.state = 'cancelled'))
          from penstock.history as h
         where h.parent = p_id);
    end if;
  elsif v_kind = 'call' then
    v_job.waiting_on := (select count(*) from penstock.jobs where parent = p_id);
    if v_new then
      v_job := penstock.add_calls(v_job, p_calls);
    end if;
    state := case when v_job.waiting_on > 0 then 'blocked' else 'ready' end;
  else
    state := case when run_at > v_now then 'scheduled' else 'ready' end;
  end if;
  run_at := case when run_at = 'infinity' then v_now else run_at end;

  update penstock.jobs as j
     set state = suspend.state, turn = penstock.next_turn(), run_at = suspend.run_at, lease = null, counted = false,
         attempt = j.attempt - 1, parked_since = null, parked_reason = null, waiting_on = v_job.waiting_on, rollup = v_job.rollup,
         -- how often, beside snoozes: a claim that is neither these nor an attempt was given back unfinished
         options = coalesce(j.options, '{}') || jsonb_build_object('waits', coalesce((j.options->>'waits')::int, 0) + 1),
         progress = case when v_kind = 'call' and v_new then penstock.rollup_progress(v_job.rollup, j.progress) else j.progress end
   where j.id = p_id;
  if v_job.watched then
    perform penstock.tell_watchers(array[p_id]);
  end if;
  if state = 'ready' then
    perform penstock.retake_turns(array[p_id]);
  end if;
  if v_job.counted or state = 'ready' then
    perform penstock.wake(v_job.queue);
  end if;
  insert into penstock.usage_log (day, org, kind, runs, seconds, failures, bytes)
  values ((v_now at time zone 'utc')::date, coalesce(v_job.org, ''), v_job.kind,
          0, extract(epoch from v_now - v_job.started_at), 0, 0);
  output := null;
  return next;
end
$$;
