-- When the next scheduled job is due; a sleeping worker sets its alarm by it. Must use jobs_scheduled.
create or replace function penstock.next_run_at()
returns timestamptz
language sql stable
set enable_seqscan = off
as $$
  select run_at
    from penstock.jobs
   where state = 'scheduled' and run_at >= (select (penstock.time_floor()).due_since)
   order by run_at
   limit 1
$$;
