-- How many jobs on record were given up, by queue, counted no further than p_most of each (of many queues no more than ten times as many
-- together). Must use history_given_up, which it walks from queue to queue.
create or replace function penstock.dead_jobs(p_most int default 1000)
returns table (queue text, jobs bigint, exact boolean)
language sql stable
set enable_seqscan = off
set enable_bitmapscan = off
set jit = off
as $$
  with recursive named as (
    (select h.queue from penstock.history as h where h.state = 'failed' order by h.queue limit 1)
    union all
    select (select h.queue from penstock.history as h where h.state = 'failed' and h.queue > named.queue order by h.queue limit 1)
      from named
     where named.queue is not null
  ), bound as (
    select least(p_most, greatest(p_most / 10, 10 * p_most / greatest(1, count(*))))::int as most from named
  )
  select named.queue, few.jobs, few.jobs < bound.most
    from named
   cross join bound
   cross join lateral (
     select count(*) as jobs
       from (select from penstock.history as h where h.state = 'failed' and h.queue = named.queue limit bound.most) as found) as few
   where named.queue is not null
   order by named.queue
$$;
