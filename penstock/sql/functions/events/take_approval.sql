-- Answers what a job asks, once: PS014 when it asks nothing any more, or p_step is not what it asks. p_owner: only the owner's own
-- question, asked of them. Returns the step that was answered.
create or replace function penstock.take_approval(
  p_job uuid, p_step text, p_approved boolean, p_who text, p_comment text, p_owner text default null
)
returns text
language plpgsql
set enable_seqscan = off
as $$
declare
  v_wait penstock.waits;
begin
  if p_approved is null then
    raise exception 'approved: must be true or false' using errcode = 'PS001';
  elsif coalesce(p_who, '') = '' then
    raise exception 'who: must say who answers' using errcode = 'PS001';
  elsif octet_length(p_comment) > 10000 then
    raise exception 'comment: must be at most 10000 bytes' using errcode = 'PS001';
  end if;
  -- a job waits for one thing at a time
  select * into v_wait
    from penstock.waits
   where job = p_job and event = penstock.own_name('approval') and (p_step is null or step = p_step);
  if found then
    -- whoever answered before us has it locked, and then the question is gone
    perform penstock.lock_mailbox(v_wait.event, v_wait.key);
    perform from penstock.waits where job = v_wait.job and step = v_wait.step;
    if not found then
      v_wait := null;
    end if;
  end if;
  perform from penstock.jobs where id = p_job and not cancel_requested for update;
  if not found or v_wait.job is null then
    raise exception 'the job asks for no approval: it was answered, or is over' using errcode = 'PS014';
  end if;
  if p_owner is not null then
    perform from penstock.steps as s join penstock.jobs as j on j.id = s.job
      where s.job = p_job and s.name = v_wait.step and s.output->'about'->>'by' = 'owner' and j.owner = p_owner;
    if not found then
      raise exception 'approved: it is not yours to answer' using errcode = 'PS010';
    end if;
  end if;
  perform penstock.deliver(v_wait.event, v_wait.key, jsonb_build_object('approved', p_approved, 'by', p_who, 'comment', p_comment));
  return v_wait.step;
end
$$;
