-- What queues have at hand, cheaply enough to ask every other second: ready jobs are counted no further than p_most, and
-- the age is that of the job that is next in turn. Must use jobs_ready, jobs_ready_quota and jobs_running.
create or replace function penstock.backlog(p_queues text[], p_most int default 10000)
returns table (queue text, ready bigint, running bigint, oldest_ready_seconds double precision)
language sql stable
set enable_seqscan = off
set jit = off
as $$
  select name,
         (select count(*)
            from (select from penstock.jobs as j where j.state = 'ready' and j.quota is null and j.queue = name
                   union all
                  select from penstock.jobs as j where j.state = 'ready' and j.quota is not null and j.queue = name
                   limit p_most) as few),
         (select count(*) from penstock.jobs as j where j.state = 'running' and j.queue = name),
         (select extract(epoch from penstock.clock() - min(first.run_at))
            from ((select j.run_at
                     from penstock.jobs as j
                    where j.state = 'ready' and j.quota is null and j.queue = name
                    order by j.priority, j.turn, j.id
                    limit 1)
                  union all
                  (select j.run_at
                     from penstock.jobs as j
                    where j.state = 'ready' and j.quota is not null and j.queue = name
                    order by j.priority, j.turn, j.id
                    limit 1)) as first)::double precision
    from unnest(p_queues) as name
   where not exists (select from penstock.queues as q where q.name = name and q.paused)
$$;
