-- Announces a file that a running job is about to write, under the job's quota. Raises PS004 when the job is no longer the
-- caller's; for the rest see announce_artifact.
create or replace function penstock.begin_artifact(
  p_lease bigint, p_job uuid, p_claims int, p_id uuid, p_name text, p_path text, p_content_type text, p_type text,
  p_duration double precision, p_metadata jsonb, p_expires_in double precision, p_create boolean
)
returns table (id uuid, fresh boolean, room bigint, storage bigint)
language plpgsql
set enable_seqscan = off
as $$
#variable_conflict use_column
declare
  v_job record;
begin
  select j.owner, j.org, j.kind, j.quota into v_job
    from penstock.jobs as j
   where j.id = p_job and j.claims = p_claims and j.lease = p_lease
     for share;
  if not found then
    raise exception 'job % is no longer this worker''s: its artifact % is not written', p_job, p_name using errcode = 'PS004';
  end if;
  return query
    select a.id, a.fresh, a.room, a.storage
      from penstock.announce_artifact(p_lease, p_job, p_claims, v_job.owner, v_job.org, v_job.kind, p_id, p_name, p_path,
                                      p_content_type, p_type, p_duration, p_metadata, p_expires_in, p_create, v_job.quota) as a;
end
$$;
