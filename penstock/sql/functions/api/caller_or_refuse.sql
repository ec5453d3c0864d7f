-- The caller, for what only somebody may do; p_org must be one of theirs.
create or replace function penstock.caller_or_refuse(p_org text default null)
returns text
language plpgsql stable
as $$
declare
  v_caller text := penstock.caller();
begin
  if v_caller is null then
    raise exception 'nobody is signed in' using errcode = 'PS010';
  elsif p_org is not null and not (p_org = any(penstock.caller_orgs())) then
    raise exception 'org: you do not belong to it' using errcode = 'PS010';
  end if;
  return v_caller;
end
$$;
