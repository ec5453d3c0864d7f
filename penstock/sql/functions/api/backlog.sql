-- What queues have at hand, cheaply enough to ask every other second: ready jobs are counted no further than p_most, and
-- the age is that of the oldest of these. A paused queue is left out. The running ones are read once, not for each queue.
create or replace function penstock.backlog(p_queues text[], p_most int default 10000)
returns table (queue text, ready bigint, running bigint, oldest_ready_seconds double precision)
language sql stable
as $$
  with running as materialized (
    select r.queue, count(*) as jobs from penstock.running_jobs() as r group by r.queue
  )
  select asked.queue, ready.jobs, coalesce(running.jobs, 0), extract(epoch from penstock.clock() - ready.oldest)::double precision
    from unnest(p_queues) as asked (queue)
    left join running on running.queue = asked.queue
   cross join lateral penstock.ready_jobs(asked.queue, p_most) as ready
   where not exists (select from penstock.queues as q where q.name = asked.queue and q.paused)
$$;
