-- Whether an upload may still put its file in place: asked when the bytes have come, before the file appears.
create or replace function penstock.is_uploading(p_upload bigint, p_id uuid)
returns boolean
language sql stable
set enable_seqscan = off
as $$
  select exists (
    select from penstock.artifacts where id = p_id and lease = p_upload and claims = 0 and state = 'writing')
$$;
