-- The jobs that have not ended, in the columns of jobs_view: for who asks of these alone, since no history is looked through.
create or replace view penstock.live_jobs_view with (security_invoker = true) as
  select j.id, j.queue, j.kind, j.state, j.priority, j.attempt, j.max_attempts, j.snoozes, j.claims, j.parent, j.owner, j.org,
         coalesce(j.args, penstock.payload_of(j.id)) as args, j.progress, null::jsonb as output,
         case when j.error_count is not null then penstock.errors_of(j.id) end as errors, j.cancel_requested,
         l.worker, l.expires_at as leased_until,
         j.created_at, j.run_at, j.started_at, null::timestamptz as finished_at
    from penstock.jobs as j
    left join penstock.leases_now as l on l.id = j.lease;
comment on view penstock.live_jobs_view is
  'The jobs that have not ended. Stable: columns are only ever added.';
