-- Confirms that the file of an announced artifact is there; its bytes count into the usage of its organisation and kind.
-- No row when another writes it by now; PS013 when it does not fit into its owner's quota, together with what others stored
-- meanwhile: the lock lets one owner's files pass one by one.
create or replace function penstock.confirm_artifact(
  p_lease bigint, p_job uuid, p_claims int, p_id uuid, p_size bigint, p_digest text
)
returns setof penstock.artifacts
language plpgsql
set enable_seqscan = off
as $$
declare
  v_stored penstock.artifacts;
  v_owner text;
  v_storage bigint;
  v_used bigint;
begin
  select a.owner, q.storage
    into v_owner, v_storage
    from penstock.artifacts as a
    join penstock.quotas as q on q.name = a.quota
   where a.id = p_id and a.owner is not null and a.state = 'writing' and q.storage is not null;
  if found then
    perform penstock.lock('storage ' || (hashtext(v_owner) & 63));
    v_used := penstock.stored_bytes(v_owner);
    if v_used + p_size > v_storage then
      perform penstock.refuse_storage(v_used, v_storage);
    end if;
  end if;
  update penstock.artifacts
     set state = 'stored', size = p_size, digest = p_digest, stored_at = penstock.clock()
   where id = p_id and job = p_job and lease = p_lease and claims = p_claims and state = 'writing'
  returning * into v_stored;
  if found then
    perform penstock.count_usage(v_stored.org, v_stored.kind, p_bytes => p_size);
    return next v_stored;
    return;
  end if;
  -- said twice, because the first answer was lost: counted once
  return query
    select *
      from penstock.artifacts
     where id = p_id and job = p_job and lease = p_lease and claims = p_claims and state = 'stored' and digest = p_digest;
end
$$;
