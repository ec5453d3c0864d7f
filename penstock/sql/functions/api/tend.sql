-- What the leading worker does every second: jobs whose time has come become ready, and those of lost workers go back.
-- Returns whether the lease leads at all, in how many seconds the next scheduled job is due, whether an operation is under way, and
-- whether there are jobs for take_lost().
create or replace function penstock.tend(p_lease bigint)
returns table (leads boolean, due_in double precision, operating boolean, lost boolean)
language plpgsql
set enable_seqscan = off
set enable_bitmapscan = off
as $$
begin
  -- first, while this transaction has written nothing: see raise_horizon()
  if (select lease = p_lease from penstock.leader order by number desc limit 1) then
    perform penstock.raise_horizon();
    perform penstock.raise_floors();
    perform penstock.raise_time_floor();
    perform penstock.renew_waiting();
  end if;
  leads := penstock.lead(p_lease);
  if leads then
    perform penstock.promote(10000);
    perform penstock.reclaim();
    due_in := extract(epoch from penstock.next_run_at() - penstock.clock());
  end if;
  operating := leads and exists (select from penstock.operations where state = 'running');
  lost := leads and exists (select from penstock.lost_jobs);
  return next;
end
$$;
