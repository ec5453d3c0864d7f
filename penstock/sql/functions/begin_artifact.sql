-- Announces a file that a running job is about to write: the row that a sweep finds if the writer dies. Raises PS004 when
-- the job is no longer the caller's, PS007 when p_create forbids to overwrite and there is one, PS001 when the path is
-- another owner's. `fresh` says that the row is new: what the store has under that path then is not ours.
create or replace function penstock.begin_artifact(
  p_lease bigint, p_job uuid, p_claims int, p_id uuid, p_name text, p_path text, p_content_type text, p_type text,
  p_duration double precision, p_metadata jsonb, p_expires_in interval, p_create boolean
)
returns table (id uuid, fresh boolean)
language plpgsql
set enable_seqscan = off
as $$
#variable_conflict use_column
declare
  v_now timestamptz := penstock.clock();
  v_job record;
  v_there record;
begin
  select j.owner, j.org, j.kind into v_job
    from penstock.jobs as j
   where j.id = p_job and j.claims = p_claims and j.lease = p_lease
     for share;
  if not found then
    raise exception 'job % is no longer this worker''s: its artifact % is not written', p_job, p_name using errcode = 'PS004';
  end if;
  insert into penstock.artifacts (id, job, owner, org, kind, name, type, path, content_type, duration, metadata, state,
                                  created_at, expires_at, lease, claims)
  values (p_id, p_job, v_job.owner, v_job.org, v_job.kind, p_name, p_type, p_path, p_content_type, p_duration, p_metadata,
          'writing', v_now, v_now + p_expires_in, p_lease, p_claims)
      on conflict do nothing;
  if found then
    return query select p_id, true;
    return;
  end if;
  -- whoever removes a file holds its row meanwhile: this waits for them
  select a.id, a.state, a.owner, a.org, a.job, a.lease, a.claims into v_there
    from penstock.artifacts as a
   where a.path = p_path
     for update;
  if not found then
    -- it has just gone
    return query
      select b.id, b.fresh
        from penstock.begin_artifact(p_lease, p_job, p_claims, p_id, p_name, p_path, p_content_type, p_type, p_duration,
                                     p_metadata, p_expires_in, p_create) as b;
    return;
  end if;
  if v_there.owner is distinct from v_job.owner or v_there.org is distinct from v_job.org then
    raise exception 'path: % is another owner''s', p_path using errcode = 'PS001';
  end if;
  if p_create and (v_there.state = 'stored' or (v_there.state = 'writing' and v_there.job <> p_job and exists (
    select from penstock.jobs as j
     where j.id = v_there.job and j.lease = v_there.lease and j.claims = v_there.claims)))
  then
    raise exception 'there is an artifact % already', p_path using errcode = 'PS007';
  end if;
  update penstock.artifacts as a
     set job = p_job, kind = v_job.kind, name = p_name, type = p_type, content_type = p_content_type,
         duration = p_duration, metadata = p_metadata, state = 'writing', created_at = v_now, stored_at = null,
         expires_at = v_now + p_expires_in, lease = p_lease, claims = p_claims, size = null, digest = null
   where a.id = v_there.id;
  return query select v_there.id, false;
end
$$;
