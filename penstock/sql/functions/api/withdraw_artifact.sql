-- Takes back an announcement whose file was not written, because a file was there that is not ours.
create or replace function penstock.withdraw_artifact(p_lease bigint, p_claims int, p_id uuid)
returns void
language sql
as $$
  delete from penstock.artifacts where id = p_id and lease = p_lease and claims = p_claims and state = 'writing'
$$;
