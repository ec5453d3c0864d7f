-- Every queue with its settings, how many live jobs it has by state, and how long its oldest ready job has waited. Counts them all:
-- see queue_overview() for where they may be many.
create or replace function penstock.queue_stats()
returns table (
  name text, paused boolean, settings jsonb, blocked bigint, scheduled bigint, ready bigint, running bigint,
  oldest_ready_seconds double precision
)
language sql stable
as $$
  select o.name, o.paused, o.settings, o.blocked, o.scheduled, o.ready, o.running, o.oldest_ready_seconds
    from penstock.queue_overview(2147483647) as o
$$;
