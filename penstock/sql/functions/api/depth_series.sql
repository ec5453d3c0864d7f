-- How much a queue, or all of them together, had to do, in steps of so many seconds from p_since on: the most of each step.
create or replace function penstock.depth_series(p_since timestamptz, p_step int, p_queue text default null)
returns table (at timestamptz, ready bigint, running bigint, oldest_ready_seconds double precision)
language sql stable
set jit = off
as $$
  select date_bin(make_interval(secs => p_step), minute.at, '2024-01-01 00:00:00+00'), max(minute.ready), max(minute.running),
         max(minute.oldest)
    from (select d.at, sum(d.ready) as ready, sum(d.running) as running, max(d.oldest_ready_seconds) as oldest
            from penstock.depths as d
           where d.at >= p_since and (p_queue is null or d.queue = p_queue)
           group by d.at) as minute
   group by 1
   order by 1
$$;
