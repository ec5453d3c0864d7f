-- Every queue with its settings, how many live jobs it has by state, and how long its oldest ready job has waited.
create or replace function penstock.queue_stats()
returns table (
  name text, paused boolean, settings jsonb, blocked bigint, scheduled bigint, ready bigint, running bigint,
  oldest_ready_seconds double precision
)
language sql stable
as $$
  with counted as (
    select queue, state, count(*) as jobs, min(run_at) as oldest
      from penstock.jobs
     group by queue, state
  ), names as (
    select name from penstock.queues union select queue from counted
  )
  select n.name, coalesce(q.paused, false),
         coalesce(jsonb_strip_nulls(to_jsonb(q) - 'name' - 'paused' - 'limited'
           || jsonb_build_object(
                'rate_period', case when q.rate is not null or q.rate_per_key is not null then extract(epoch from q.rate_period) end,
                'lease_length', extract(epoch from q.lease_length),
                'parked_timeout', extract(epoch from q.parked_timeout),
                'keep', nullif(q.keep, 'all'))), '{}'),
         coalesce(sum(c.jobs) filter (where c.state = 'blocked'), 0)::bigint,
         coalesce(sum(c.jobs) filter (where c.state = 'scheduled'), 0)::bigint,
         coalesce(sum(c.jobs) filter (where c.state = 'ready'), 0)::bigint,
         coalesce(sum(c.jobs) filter (where c.state = 'running'), 0)::bigint,
         extract(epoch from penstock.clock() - min(c.oldest) filter (where c.state = 'ready'))::double precision
    from names as n
    left join penstock.queues as q on q.name = n.name
    left join counted as c on c.queue = n.name
   group by n.name, q.*, q.name, q.paused, q.rate_period, q.lease_length, q.parked_timeout
   order by n.name
$$;
