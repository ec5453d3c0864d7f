-- Writes down what somebody did, in the transaction that does it.
create or replace function penstock.add_audit(
  p_who text, p_action text, p_target text, p_details jsonb default '{}', p_jobs int default null
)
returns void
language plpgsql
as $$
begin
  if coalesce(p_who, '') = '' then
    raise exception 'who: must say who does it' using errcode = 'PS001';
  end if;
  insert into penstock.audit (at, jobs, who, action, target, details)
  values (penstock.clock(), p_jobs, p_who, p_action, p_target, p_details);
end
$$;
