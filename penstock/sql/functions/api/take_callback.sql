-- What a provider has called back with: an event for the job whose address it was given, once for each p_step. False when it was
-- taken before, or the job is over. It is remembered under a name that no step of the handler's has.
create or replace function penstock.take_callback(p_job uuid, p_step text, p_event text, p_payload jsonb)
returns boolean
language plpgsql
set enable_seqscan = off
as $$
begin
  -- as whoever emits or waits: the mailbox before the job
  perform penstock.lock_mailbox(p_event, p_job::text);
  perform from penstock.jobs where id = p_job and not cancel_requested for update;
  if not found then
    return false;
  end if;
  -- those of the first months are under the name itself
  if exists (select from penstock.steps where job = p_job and name = p_step and kind = 'callback') then
    return false;
  end if;
  insert into penstock.steps (job, name, kind, output, done_at)
  values (p_job, penstock.own_name('callback ' || p_step), 'callback', p_payload, penstock.clock())
      on conflict (job, name) do nothing;
  if not found then
    return false;
  end if;
  perform penstock.emit(p_event, p_job::text, p_payload, interval '366 days');
  return true;
end
$$;
