-- Confirms the file that a running job wrote. No row when that run no longer holds the job, or another run writes it by now.
create or replace function penstock.store_artifact(
  p_lease bigint, p_job uuid, p_claims int, p_id uuid, p_size bigint, p_digest text
)
returns setof penstock.artifacts
language plpgsql
set enable_seqscan = off
as $$
begin
  perform from penstock.jobs where id = p_job and claims = p_claims and lease = p_lease for share;
  if found then
    return query select * from penstock.confirm_artifact(p_lease, p_job, p_claims, p_id, p_size, p_digest);
  end if;
end
$$;
