-- Raises PS004 unless the lease holds the job by this very claim.
create or replace function penstock.refuse_others(p_lease bigint, p_id uuid, p_claims int)
returns void
language plpgsql stable
as $$
begin
  if not penstock.holds(p_lease, p_id, p_claims) then
    raise exception 'job % is not this lease''s by this claim: forget it', p_id using errcode = 'PS004';
  end if;
end
$$;
