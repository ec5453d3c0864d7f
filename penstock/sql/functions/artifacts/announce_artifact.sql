-- Announces a file that is about to be written: the row that a sweep finds if the writer dies. (lease, claims) is who
-- writes. Raises PS007 when p_create forbids to overwrite and there is one, PS001 when the path is another owner's. `fresh`
-- says that the row is new: what the store has under that path then is not ours. Under a quota `room` says how many of the
-- owner's `storage` bytes are left, and PS013 that there are none; confirm_artifact() counts again.
create or replace function penstock.announce_artifact(
  p_lease bigint, p_job uuid, p_claims int, p_owner text, p_org text, p_kind text, p_id uuid, p_name text, p_path text,
  p_content_type text, p_type text, p_duration double precision, p_metadata jsonb, p_expires_in double precision, p_create boolean,
  p_quota text default null
)
returns table (id uuid, fresh boolean, room bigint, storage bigint)
language plpgsql
set enable_seqscan = off
as $$
#variable_conflict use_column
declare
  v_now timestamptz := penstock.clock();
  v_there penstock.artifacts;
  v_storage bigint := (select q.storage from penstock.quotas as q where q.name = p_quota and p_owner is not null);
  v_used bigint;
  v_expires_at timestamptz := v_now + make_interval(secs => p_expires_in);
begin
  if v_storage is not null then
    v_used := penstock.stored_bytes(p_owner);
    if v_used >= v_storage then
      perform penstock.refuse_storage(v_used, v_storage);
    end if;
  end if;
  insert into penstock.artifacts (id, job, owner, org, kind, name, type, path, content_type, duration, metadata, state,
                                  created_at, expires_at, lease, claims, quota)
  values (p_id, p_job, p_owner, p_org, p_kind, p_name, p_type, p_path, p_content_type, p_duration, p_metadata,
          'writing', v_now, v_expires_at, p_lease, p_claims, p_quota)
      on conflict do nothing;
  if found then
    return query select p_id, true, v_storage - v_used, v_storage;
    return;
  end if;
  -- whoever removes a file holds its row meanwhile: this waits for them
  select a.* into v_there
    from penstock.artifacts as a
   where a.path = p_path
     for update;
  if not found then
    if exists (select from penstock.artifacts as a where a.id = p_id) then
      raise exception 'id: % is another artifact''s', p_id using errcode = 'PS001';
    end if;
    -- it has just gone
    return query
      select b.id, b.fresh, b.room, b.storage
        from penstock.announce_artifact(p_lease, p_job, p_claims, p_owner, p_org, p_kind, p_id, p_name, p_path,
                                        p_content_type, p_type, p_duration, p_metadata, p_expires_in, p_create, p_quota) as b;
    return;
  end if;
  if v_there.owner is distinct from p_owner or v_there.org is distinct from p_org then
    raise exception 'path: % is another owner''s', p_path using errcode = 'PS001';
  end if;
  if p_create and (v_there.state = 'stored' or (v_there.state = 'writing' and v_there.job <> p_job
                                                and penstock.is_being_written(v_there)))
  then
    raise exception 'there is an artifact % already', p_path using errcode = 'PS007';
  end if;
  update penstock.artifacts as a
     set job = p_job, kind = p_kind, name = p_name, type = p_type, content_type = p_content_type,
         duration = p_duration, metadata = p_metadata, state = 'writing', created_at = v_now, stored_at = null,
         expires_at = v_expires_at, lease = p_lease, claims = p_claims, size = null, digest = null, quota = p_quota
   where a.id = v_there.id;
  -- what it replaces makes room
  return query select v_there.id, false, v_storage - penstock.stored_bytes(p_owner), v_storage;
end
$$;
