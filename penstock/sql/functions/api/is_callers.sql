-- Whether a row of this owner and organisation is the caller's: what the policies say, for functions that step over them.
create or replace function penstock.is_callers(p_owner text, p_org text)
returns boolean
language sql stable
return coalesce(p_owner = penstock.caller(), false) or coalesce(p_org = any(penstock.caller_orgs()), false);
