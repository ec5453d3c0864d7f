-- How many jobs wait for a worker that knows them, by queue and kind, counted no further than ten thousand together. Reads jobs_parked,
-- which holds nothing else.
create or replace function penstock.parked_jobs()
returns table (queue text, kind text, jobs bigint, since timestamptz, reason text)
language sql stable
set enable_seqscan = off
set enable_bitmapscan = off
as $$
  select queue, kind, count(*), min(parked_since), min(parked_reason)
    from (select j.queue, j.kind, j.parked_since, j.parked_reason
            from penstock.jobs as j
           where j.parked_since is not null and j.state <> 'running'
           limit 10000) as parked
   group by queue, kind
   order by queue, kind
$$;
