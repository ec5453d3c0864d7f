-- An upload was broken off: whatever there is of it is to be removed. The artifact, if it was still the caller's.
create or replace function penstock.abandon_upload(p_upload bigint, p_path text)
returns uuid
language sql
set enable_seqscan = off
as $$
  update penstock.artifacts
     set state = 'removing'
   where path = p_path and lease = p_upload and claims = 0 and state = 'writing'
  returning id
$$;
