-- What an autoscaler asks about a queue: see backlog for how it counts. `workers` are those with a lease on it.
create or replace function penstock.scale_of(p_queue text)
returns table (paused boolean, ready bigint, running bigint, oldest_ready_seconds double precision, workers bigint)
language sql stable
set enable_seqscan = off
set enable_bitmapscan = off
as $$
  select b.queue is null, coalesce(b.ready, 0), coalesce(b.running, 0), b.oldest_ready_seconds,
         (select count(*) from penstock.leases_now as l where p_queue = any(l.queues) and l.expires_at > penstock.clock())
    from (values (true)) as always (there)
    left join penstock.backlog(array[p_queue]) as b on true
$$;
