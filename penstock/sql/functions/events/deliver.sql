-- Takes an event to the job that has waited for it longest, or, when there is none, to the first that will within p_keep. See emit().
create or replace function penstock.deliver(
  p_event text, p_key text, p_payload jsonb, p_keep interval default '7 days', p_hand boolean default false
)
returns uuid
language plpgsql
set enable_seqscan = off
set jit = off
as $$
declare
  v_now timestamptz;
  v_wait penstock.waits;
  v_job penstock.jobs;
begin
  if coalesce(p_event, '') = '' or octet_length(p_event) > 500 then
    raise exception 'event: must be a name of 1 to 500 bytes' using errcode = 'PS001';
  elsif p_key is null or octet_length(p_key) > 500 then
    raise exception 'key: must be at most 500 bytes' using errcode = 'PS001';
  elsif pg_column_size(p_payload) > 1048576 then
    raise exception 'payload: over 1 MiB; put the bytes into an artifact and pass its path' using errcode = 'PS003';
  elsif p_keep < interval '0' then
    raise exception 'keep: must not be negative' using errcode = 'PS001';
  end if;
  perform penstock.lock_mailbox(p_event, p_key);
  loop
    select * into v_wait
      from penstock.waits
     where event = p_event and key = p_key
     order by since, job
     limit 1;
    if not found then
      v_now := penstock.clock();
      insert into penstock.events (id, event, key, payload, emitted_at, expires_at)
      values (penstock.uuid7(), p_event, p_key, p_payload, v_now, v_now + p_keep);
      return null;
    end if;
    -- before the row that says it waits, as whoever ends it does
    select * into v_job from penstock.jobs where id = v_wait.job for update;
    -- while it waited for the locks, time went on
    v_now := penstock.clock();
    delete from penstock.waits where job = v_wait.job and step = v_wait.step;
    -- one that has ended, or is to end, has no use for it
    continue when v_job.id is null or v_job.cancel_requested;
    update penstock.steps
       set output = output || jsonb_build_object('payload', p_payload, 'emitted_at', v_now), done_at = v_now
     where job = v_wait.job and name = v_wait.step;
    if v_job.state in ('blocked', 'scheduled') then
      update penstock.jobs set run_at = v_now, waiting_on = 0 where id = v_job.id returning * into v_job;
      if not (p_hand and penstock.hand_over(v_job)) then
        perform penstock.unblock(v_job);
      end if;
    end if;
    return v_job.id;
  end loop;
end
$$;
