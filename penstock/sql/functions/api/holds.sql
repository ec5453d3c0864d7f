-- Whether the lease holds the job by this very claim.
create or replace function penstock.holds(p_lease bigint, p_id uuid, p_claims int)
returns boolean
language sql stable
set enable_seqscan = off
as $$
  select exists (select from penstock.jobs where id = p_id and lease = p_lease and claims = p_claims)
$$;
