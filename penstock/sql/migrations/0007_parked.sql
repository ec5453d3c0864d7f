-- A job that its worker does not know is parked: it waits for a worker that does. See park().
alter table penstock.jobs
  add column parked_since timestamptz,
  add column parked_reason text;
comment on column penstock.jobs.parked_since is
  'Since when workers have met this job without knowing its kind or arguments; null again as soon as one ran it.';
create index jobs_parked on penstock.jobs (kind, queue) where parked_since is not null;

-- what a worker has handlers of; null: it does not say
alter table penstock.leases add column kinds text[];

alter table penstock.queues
  add column parked_timeout interval,
  add constraint parked_timeout_is_positive check (parked_timeout > interval '0');

create or replace view penstock.all_jobs with (security_invoker = true) as
  select id, queue, kind, state, priority, attempt, max_attempts, snoozes, max_snoozes, waiting_on,
         parent, owner, org, unique_key, limit_key, phase, weight, cancel_requested,
         args, progress, rollup, errors, options, null::jsonb as output,
         lease, claims, created_at, run_at, started_at, null::timestamptz as finished_at,
         -- whoever runs it may know it
         case when state <> 'running' then parked_since end as parked_since,
         case when state <> 'running' then parked_reason end as parked_reason
    from penstock.jobs
  union all
  select id, queue, kind, state, priority, attempt, max_attempts, snoozes, max_snoozes, 0,
         parent, owner, org, unique_key, limit_key, phase, weight, false,
         args, progress, rollup, errors, options, output,
         lease, claims, created_at, run_at, started_at, finished_at, null, null
    from penstock.history;

-- it takes more than it did
drop function if exists penstock.open_lease(text, interval, text[], text, int);
