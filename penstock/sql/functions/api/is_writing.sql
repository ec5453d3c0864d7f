-- Whether a run may still put the file of an artifact in place: asked when the bytes have come, before the file appears.
create or replace function penstock.is_writing(p_lease bigint, p_job uuid, p_claims int, p_id uuid)
returns boolean
language sql stable
set enable_seqscan = off
as $$
  select exists (select from penstock.jobs where id = p_job and claims = p_claims and lease = p_lease)
     and exists (
       select from penstock.artifacts
        where id = p_id and job = p_job and lease = p_lease and claims = p_claims and state = 'writing')
$$;
