-- The writing of a file was broken off: whatever there is of it is to be removed. The artifact, if it was still the caller's.
create or replace function penstock.abandon_artifact(p_lease bigint, p_claims int, p_path text)
returns uuid
language sql
set enable_seqscan = off
as $$
  update penstock.artifacts
     set state = 'removing'
   where path = p_path and lease = p_lease and claims = p_claims and state = 'writing'
  returning id
$$;
