-- What queues have at hand, cheaply enough to ask every other second: ready jobs are counted no further than p_most, and
-- the age is that of the oldest of these.
create or replace function penstock.backlog(p_queues text[], p_most int default 10000)
returns table (queue text, ready bigint, running bigint, oldest_ready_seconds double precision)
language sql stable
as $$
  select name, ready.jobs, (select count(*) from penstock.running_jobs(name)),
         extract(epoch from penstock.clock() - ready.oldest)::double precision
    from unnest(p_queues) as name
   cross join lateral penstock.ready_jobs(name, p_most) as ready
   where not exists (select from penstock.queues as q where q.name = name and q.paused)
$$;
