-- For those who run it: what they do to many jobs, who did what, and what there is to see of the past.

alter table penstock.operations rename to quota_use;
alter table penstock.quota_use rename constraint operations_pkey to quota_use_pkey;

-- Whether there are errors at all is seen without looking for them.
create or replace view penstock.all_jobs with (security_invoker = true) as
  select id, queue, kind, state, priority, attempt, max_attempts, snoozes, max_snoozes, waiting_on,
         parent, owner, org, unique_key, limit_key, phase, weight, cancel_requested,
         coalesce(args, penstock.payload_of(id)) as args, progress, rollup,
         case when error_count is not null then penstock.errors_of(id) end as errors, options, output,
         lease, claims, created_at, run_at, started_at, finished_at, parked_since, parked_reason, error_count
    from (
      select id, queue, kind, state, priority, attempt, max_attempts, snoozes, max_snoozes, waiting_on,
             parent, owner, org, unique_key, limit_key, phase, weight, cancel_requested,
             args, progress, rollup, error_count, options, null::jsonb as output,
             lease, claims, created_at, run_at, started_at, null::timestamptz as finished_at,
             -- whoever runs it may know it
             case when state <> 'running' then parked_since end as parked_since,
             case when state <> 'running' then parked_reason end as parked_reason
        from penstock.jobs
      union all
      select id, queue, kind, state, priority, attempt, max_attempts, snoozes, max_snoozes, 0,
             parent, owner, org, unique_key, limit_key, phase, weight, false,
             args, progress, rollup, error_count, options, output,
             lease, claims, created_at, run_at, started_at, finished_at, null, null
        from penstock.history) as found;

alter table penstock.settings
  add column audit_kept interval not null default '1 year',
  add column statistics_kept interval not null default '14 days',
  add constraint audit_kept_is_positive check (audit_kept > interval '0'),
  add constraint statistics_kept_is_positive check (statistics_kept > interval '0');

-- what it returns has grown by a column
drop function if exists penstock.tend(bigint);

-- An action over the jobs of a filter. Whoever leads goes on with it, a chunk at a time: newest first, from `cursor` on.
create table penstock.operations (
  id uuid constraint operations_pkey primary key,
  created_at timestamptz not null,
  finished_at timestamptz,
  cursor uuid,
  total int not null,
  total_is_exact boolean not null,
  done int not null default 0,
  state text not null default 'running',
  action text not null,
  who text not null,
  filter jsonb not null,
  options jsonb not null,
  error text,
  constraint action_is_known check (action in ('retry', 'cancel', 'purge', 'move', 'set_priority')),
  constraint state_is_known check (state in ('running', 'done', 'cancelled', 'failed'))
) with (fillfactor = 50);
create index operations_running on penstock.operations (id) where state = 'running';
comment on column penstock.operations.total is
  'How many jobs fitted when it began, counted no further than ten thousand.';
comment on column penstock.operations.done is
  'How many jobs it has changed.';

-- What people did, a line each, written with the deed itself.
create table penstock.audit (
  number bigint generated always as identity constraint audit_pkey primary key,
  at timestamptz not null,
  jobs int,
  who text not null,
  action text not null,
  target text,
  details jsonb not null default '{}'
);
create index audit_at on penstock.audit (at);
comment on column penstock.audit.jobs is
  'How many it changed; null where that is not known yet: a line of the same operation follows when it ends.';

-- What workers report now and then: the runs that have ended since, and the errors. Appended as it comes, and folded into the
-- tables below by maintain(): two workers never wait for each other, and an old snapshot keeps no long chains of one row.
create table penstock.reports (
  number bigint generated always as identity constraint reports_pkey primary key,
  at timestamptz not null,
  runs jsonb not null,
  errors jsonb not null
);

-- How many runs ended how, and how long they waited and took: by minute for two days and by hour for longer, of each queue and of
-- all ('' stands for all), by hour of each kind too.
create table penstock.statistics (
  seconds int not null,
  at timestamptz not null,
  queue text not null,
  kind text not null,
  succeeded bigint not null,
  failed bigint not null,
  retried bigint not null,
  cancelled bigint not null,
  waited bigint[] not null,
  ran bigint[] not null,
  waited_seconds double precision not null,
  ran_seconds double precision not null,
  constraint statistics_pkey primary key (seconds, queue, kind, at)
) with (fillfactor = 50);
create index statistics_at on penstock.statistics (seconds, at);
comment on column penstock.statistics.failed is
  'Given up; `retried` are the attempts that failed and are tried again.';
comment on column penstock.statistics.waited is
  'How many first runs began so long after they were enqueued: below 1 ms, 2 ms, 4 ms and so on, by powers of two.';

-- How much queues had to do, noted once a minute by whoever leads, and kept by the hour after two days.
create table penstock.depths (
  at timestamptz not null,
  queue text not null,
  ready int not null,
  running int not null,
  oldest_ready_seconds double precision,
  constraint depths_pkey primary key (at, queue)
);
comment on column penstock.depths.ready is
  'Counted no further than a hundred thousand.';

-- Errors that are alike, by the hour: the numbers, names and ids in a message do not tell them apart.
create table penstock.failures (
  hour timestamptz not null,
  id uuid not null,
  last_at timestamptz not null,
  example uuid,
  attempts bigint not null,
  jobs bigint not null,
  kind text not null,
  queue text not null,
  type text,
  message text not null,
  constraint failures_pkey primary key (hour, id)
) with (fillfactor = 50);
comment on column penstock.failures.id is
  'Made of kind and message.';
comment on column penstock.failures.jobs is
  'Those that were given up; `attempts` counts every attempt that failed.';

-- Usage of a day, of each organisation and of each kind: what there is to see of all together, without adding up every kind of every
-- organisation (90,000 rows took 100 ms).
create table penstock.usage_sums (
  day date not null,
  by text not null,
  name text not null,
  runs bigint not null,
  seconds double precision not null,
  failures bigint not null,
  bytes bigint not null,
  constraint usage_sums_pkey primary key (day, by, name)
);
insert into penstock.usage_sums
select day, case when grouping(org) = 0 then 'org' else 'kind' end, coalesce(org, kind),
       sum(runs), sum(seconds), sum(failures), sum(bytes)
  from penstock.usage
 group by grouping sets ((day, org), (day, kind));

-- How workers are, as they last said: the row with the highest number, as in heartbeats.
create table penstock.vitals (
  lease bigint not null constraint vitals_of_a_lease references penstock.leases (id) on delete cascade,
  number bigint not null,
  memory bigint not null,
  load real,
  slots int,
  constraint vitals_pkey primary key (lease, number)
);
comment on column penstock.vitals.load is
  'Of one processor, how much it used of late.';

drop function if exists penstock.workers(uuid);
