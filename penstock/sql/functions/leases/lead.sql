-- Takes the lead, or keeps it: true when the lease leads for another five seconds. Writes only when it does.
create or replace function penstock.lead(p_lease bigint)
returns boolean
language plpgsql
as $$
declare
  v_now timestamptz := penstock.clock();
begin
  if not exists (
    select from penstock.leader
     where lease = p_lease or until < v_now or until > v_now + interval '1 minute'
  ) then
    return false;
  end if;
  update penstock.leader
     set lease = p_lease, until = v_now + interval '5 seconds'
   where lease = p_lease or until < v_now or until > v_now + interval '1 minute';
  return found;
end
$$;
