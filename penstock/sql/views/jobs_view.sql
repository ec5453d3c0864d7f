-- Every job, live or ended, for applications to read and join. Columns are added at the end, and never removed or renamed:
-- Postgres itself refuses to replace the view otherwise.
create or replace view penstock.jobs_view with (security_invoker = true) as
  select j.id, j.queue, j.kind, j.state, j.priority, j.attempt, j.max_attempts, j.snoozes, j.claims, j.parent, j.owner, j.org,
         j.args, j.progress, j.output, j.errors, j.cancel_requested,
         -- the worker that has it or had it last, as long as that is known, and until when it may be silent
         l.worker, case when j.finished_at is null then l.expires_at end as leased_until,
         j.created_at, j.run_at, j.started_at, j.finished_at
    from penstock.all_jobs as j
    left join penstock.leases_now as l on l.id = j.lease;
comment on view penstock.jobs_view is
  'Every job, live or ended. Stable: columns are only ever added.';
