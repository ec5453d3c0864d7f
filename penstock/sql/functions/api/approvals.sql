-- What jobs ask and nobody has answered yet, by the age of the job; p_after is the cursor of the last of the page before.
create or replace function penstock.approvals(p_after text default null, p_limit int default 50)
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
   where w.event = penstock.own_name('approval') and (p_after is null or w.key > p_after)
   order by w.key
   limit p_limit
$$;
