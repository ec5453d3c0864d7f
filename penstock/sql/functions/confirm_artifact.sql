-- Confirms that the file of an announced artifact is there; its bytes count into the usage of its organisation and kind.
-- No row when another writes it by now.
create or replace function penstock.confirm_artifact(
  p_lease bigint, p_job uuid, p_claims int, p_id uuid, p_size bigint, p_digest text
)
returns setof penstock.artifacts
language plpgsql
set enable_seqscan = off
as $$
declare
  v_stored penstock.artifacts;
begin
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
