-- What a job asks, as `approvals` has it; no row when it asks nothing, or was answered. Must use waits_pkey, which is why
-- it is no approvals() with a job to look for: that goes through all that is asked, by its key.
create or replace function penstock.asked_of_job(p_job uuid)
returns table (
  job uuid, kind text, queue text, owner text, org text, step text, question text, details jsonb, by text, since timestamptz,
  until timestamptz, cursor text
)
language sql stable
set enable_seqscan = off
as $$
  select j.id, j.kind, j.queue, j.owner, j.org, w.step, s.output->'about'->>'question', s.output->'about'->'details',
         s.output->'about'->>'by', w.since, (s.output->>'until')::timestamptz, w.key
    from penstock.waits as w
    join penstock.jobs as j on j.id = w.job and not j.cancel_requested
    join penstock.steps as s on s.job = w.job and s.name = w.step
   where w.job = p_job and w.event = penstock.own_name('approval')
$$;
