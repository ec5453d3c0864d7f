-- Whether the writer of an announced artifact may still be at it: a run that holds its job, or an upload (claims 0) of the
-- last day.
create or replace function penstock.is_being_written(p_artifact penstock.artifacts)
returns boolean
language sql stable
set enable_seqscan = off
as $$
  select case
    when p_artifact.claims = 0 then p_artifact.created_at > penstock.clock() - interval '1 day'
    else exists (
      select from penstock.jobs as j
       where j.id = p_artifact.job and j.lease = p_artifact.lease and j.claims = p_artifact.claims)
  end
$$;
