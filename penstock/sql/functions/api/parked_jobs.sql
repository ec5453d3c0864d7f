-- How many jobs wait for a worker that knows them, by queue and kind. Reads jobs_parked, which holds
-- nothing else.
create or replace function penstock.parked_jobs()
returns table (queue text, kind text, jobs bigint, since timestamptz, reason text)
language sql stable
set enable_seqscan = off
as $$
  select queue, kind, count(*), min(parked_since), min(parked_reason)
    from penstock.jobs
   where parked_since is not null and state <> 'running'
   group by queue, kind
   order by queue, kind
$$;
