-- How many bytes of artifacts a user has.
create or replace function penstock.stored_bytes(p_owner text)
returns bigint
language sql stable
set enable_seqscan = off
as $$
  select coalesce(sum(size), 0)::bigint
    from penstock.artifacts
   where owner = p_owner and state <> 'removing' and (expires_at is null or expires_at > penstock.clock())
$$;
