-- Every queue with its settings, how many live jobs it has by state, and how long its oldest ready job has waited. Jobs are counted no
-- further than p_most, the ready ones of each queue (of many deep queues no more than 50,000 together) and the others of all:
-- a million would take a third of a second. Where `exact` is false there are at least so many.
create or replace function penstock.queue_overview(p_most int default 10000)
returns table (
  name text, paused boolean, settings jsonb, blocked bigint, scheduled bigint, ready bigint, running bigint,
  oldest_ready_seconds double precision, exact boolean
)
language sql stable
set enable_seqscan = off
set jit = off
as $$
  with waiting as (
    (select queue, state from penstock.jobs
      where state = 'scheduled' and run_at >= (select (penstock.time_floor()).due_since)
      limit p_most)
    union all
    (select queue, state from penstock.jobs where waiting_on > 0 limit p_most)
  ), later as (
    select queue, count(*) filter (where state = 'blocked') as blocked, count(*) filter (where state = 'scheduled') as scheduled
      from waiting
     group by queue
  ), running as (
    select queue, count(*) as jobs from penstock.running_jobs() group by queue
  ), names as (
    select unnest(penstock.queue_names()) as name union select queue from later union select queue from running
  ), bound as (
    select case when p_most > 50000 then p_most else least(p_most, greatest(500, 50000 / greatest(1, count(*))))::int end as most,
           coalesce((select max(jobs) < p_most from (select count(*) as jobs from waiting group by state) as of_state), true) as all_later
      from names
  )
  select n.name, coalesce(q.paused, false),
         coalesce(jsonb_strip_nulls(to_jsonb(q) - 'name' - 'paused' - 'limited'
           || jsonb_build_object(
                'rate_period', case when q.rate is not null or q.rate_per_key is not null then extract(epoch from q.rate_period) end,
                'lease_length', extract(epoch from q.lease_length),
                'parked_timeout', extract(epoch from q.parked_timeout),
                'keep', nullif(q.keep, 'all'))), '{}'),
         coalesce(l.blocked, 0), coalesce(l.scheduled, 0), ready.jobs, coalesce(r.jobs, 0),
         extract(epoch from penstock.clock() - ready.oldest)::double precision,
         ready.jobs < bound.most and bound.all_later
    from names as n
   cross join bound
    left join penstock.queues as q on q.name = n.name
    left join later as l on l.queue = n.name
    left join running as r on r.queue = n.name
   cross join lateral penstock.ready_jobs(n.name, bound.most) as ready
   where q.name is not null or l.queue is not null or r.queue is not null or ready.jobs > 0
   order by n.name
$$;
