-- Takes the lead, or keeps it: true when the lease leads, until p_until, or for another five seconds. Writes only when it does.
create or replace function penstock.lead(p_lease bigint, p_until timestamptz default null)
returns boolean
language plpgsql
set enable_seqscan = off
set enable_bitmapscan = off
as $$
declare
  v_now timestamptz := penstock.clock();
  v_last penstock.leader;
begin
  loop
    select * into v_last from penstock.leader order by number desc limit 1;
    if (v_last.lease = p_lease or v_last.until < v_now or v_last.until > v_now + interval '1 minute') is not true then
      return false;
    end if;
    delete from penstock.leader where number = v_last.number;
    exit when found; -- else another has written a newer one
  end loop;
  insert into penstock.leader (number, lease, until) values (v_last.number + 1, p_lease, coalesce(p_until, v_now + interval '5 seconds'));
  return true;
end
$$;
