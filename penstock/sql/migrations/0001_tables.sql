-- Unfinished jobs live in `jobs`; a finished job moves to `history` in the statement that finishes it.
-- Nothing references `jobs` by foreign key, because its rows move away. It has no check constraints either: Postgres
-- evaluates them on every update, which made a claim a fifth dearer. What may enter is checked at the doors (new_job, the
-- client).

create type penstock.job_state as enum
  ('blocked', 'scheduled', 'ready', 'running', 'succeeded', 'failed', 'cancelled');

create table penstock.jobs (
  id uuid not null,
  created_at timestamptz not null,
  run_at timestamptz not null,
  started_at timestamptz,
  turn bigint not null default 0,
  lease bigint,
  state penstock.job_state not null,
  priority int not null default 0,
  attempt int not null default 0,
  max_attempts int not null default 5,
  claims int not null default 0,
  snoozes int not null default 0,
  max_snoozes int,
  waiting_on int not null default 0,
  weight real,
  awaited boolean not null default false,
  watched boolean not null default false,
  counted boolean not null default false,
  cancel_requested boolean not null default false,
  queue text not null default 'default',
  kind text not null,
  parent uuid,
  owner text,
  org text,
  unique_key text,
  limit_key text,
  phase text,
  args jsonb not null default '{}',
  progress jsonb,
  rollup jsonb,
  errors jsonb,
  options jsonb,
  constraint jobs_pkey primary key (id)
) with (
  -- Every claim and every completion leaves a dead row: vacuum by count, and do not pace it.
  autovacuum_vacuum_scale_factor = 0.02,
  autovacuum_vacuum_threshold = 5000,
  autovacuum_vacuum_cost_delay = 0,
  autovacuum_vacuum_insert_scale_factor = 0.2
);

comment on column penstock.jobs.claims is
  'How often the job was claimed. With the lease it fences every write about a run; unlike attempt it never goes back.';
comment on column penstock.jobs.attempt is
  'Attempts that count towards max_attempts; a snooze or a release gives its attempt back.';
comment on column penstock.jobs.turn is
  'Place among the turns of a fair queue, given at enqueue; 0 elsewhere.';
comment on column penstock.jobs.counted is
  'Claimed from a queue with limits: only such rows are in the index that limits are counted by.';
comment on column penstock.jobs.awaited is
  'Another job waits for this one (a row in edges).';

create index jobs_ready on penstock.jobs (queue, priority, turn, id) where state = 'ready';
create index jobs_ready_by_key on penstock.jobs (queue, limit_key, priority, turn, id)
  where state = 'ready' and limit_key is not null;
create index jobs_running on penstock.jobs (lease) where state = 'running';
create index jobs_counted on penstock.jobs (queue, limit_key) where state = 'running' and counted;
create index jobs_scheduled on penstock.jobs (run_at) where state = 'scheduled';
create unique index jobs_unique on penstock.jobs (kind, unique_key) where unique_key is not null;
create index jobs_owner on penstock.jobs (owner, id) where owner is not null;
create index jobs_parent on penstock.jobs (parent) where parent is not null;

-- Ids are UUIDv7, so a look-up by id touches one partition and retention is DROP TABLE.
create table penstock.history (
  id uuid not null,
  created_at timestamptz not null,
  run_at timestamptz not null,
  started_at timestamptz,
  finished_at timestamptz not null,
  turn bigint not null,
  lease bigint,
  state penstock.job_state not null,
  priority int not null,
  attempt int not null,
  max_attempts int not null,
  claims int not null,
  snoozes int not null,
  max_snoozes int,
  weight real,
  awaited boolean not null,
  queue text not null,
  kind text not null,
  parent uuid,
  owner text,
  org text,
  unique_key text,
  limit_key text,
  phase text,
  args jsonb not null,
  progress jsonb,
  rollup jsonb,
  errors jsonb,
  options jsonb,
  output jsonb,
  constraint history_pkey primary key (id)
) partition by range (id);

create index history_given_up on penstock.history (queue, id) where state = 'failed';
create index history_owner on penstock.history (owner, id) where owner is not null;
create index history_parent on penstock.history (parent) where parent is not null;

-- Takes ids of no partition: jobs that waited longer than the retention, clocks that were wrong.
create table penstock.history_strays partition of penstock.history default;

create view penstock.all_jobs with (security_invoker = true) as
  select id, queue, kind, state, priority, attempt, max_attempts, snoozes, max_snoozes, waiting_on,
         parent, owner, org, unique_key, limit_key, phase, weight, cancel_requested,
         args, progress, rollup, errors, options, null::jsonb as output,
         lease, claims, created_at, run_at, started_at, null::timestamptz as finished_at
    from penstock.jobs
  union all
  select id, queue, kind, state, priority, attempt, max_attempts, snoozes, max_snoozes, 0,
         parent, owner, org, unique_key, limit_key, phase, weight, false,
         args, progress, rollup, errors, options, output,
         lease, claims, created_at, run_at, started_at, finished_at
    from penstock.history;

create table penstock.edges (
  job uuid not null,
  waits_for uuid not null,
  constraint edges_pkey primary key (job, waits_for)
);
create index edges_waits_for on penstock.edges (waits_for);

create table penstock.leases (
  id bigint generated always as identity constraint leases_pkey primary key,
  worker text not null,
  host text,
  pid int,
  queues text[] not null default '{}',
  length interval not null,
  started_at timestamptz not null,
  expires_at timestamptz not null
) with (fillfactor = 50);

-- Which idle workers want to be woken; of no use after a crash, hence unlogged.
create unlogged table penstock.waiting (
  queue text not null,
  lease bigint not null,
  backend int not null,
  constraint waiting_pkey primary key (queue, lease)
);

create table penstock.queues (
  name text constraint queues_pkey primary key,
  paused boolean not null default false,
  max_running int,
  max_running_per_key int,
  rate int,
  rate_per_key int,
  rate_period interval not null default '1 second',
  fair_by text,
  backoff jsonb,
  lease_length interval,
  keep text not null default 'all',
  limited boolean not null generated always as (
    max_running is not null or max_running_per_key is not null
    or rate is not null or rate_per_key is not null
  ) stored,
  constraint name_is_not_empty check (name <> ''),
  constraint max_running_is_positive check (max_running > 0),
  constraint max_running_per_key_is_positive check (max_running_per_key > 0),
  constraint rate_is_positive check (rate > 0),
  constraint rate_per_key_is_positive check (rate_per_key > 0),
  constraint rate_period_is_positive check (rate_period > interval '0'),
  constraint lease_length_is_positive check (lease_length > interval '0'),
  constraint fair_by_is_a_column check (fair_by in ('owner', 'org', 'limit_key')),
  constraint keep_is_all_or_failed check (keep in ('all', 'failed'))
);

-- Starts counted in buckets of a hundredth of the queue's period; key '' is the whole queue.
create table penstock.starts (
  queue text not null,
  key text not null,
  bucket timestamptz not null,
  jobs int not null,
  constraint starts_pkey primary key (queue, key, bucket)
) with (fillfactor = 50);

-- The last turn given to each key of a fair queue; key '' is the queue's own clock, the turn being served.
create table penstock.turns (
  queue text not null,
  key text not null,
  turn bigint not null,
  constraint turns_pkey primary key (queue, key)
) with (fillfactor = 50);

-- Remembered results of durable steps.
create table penstock.steps (
  job uuid not null,
  name text not null,
  output jsonb,
  done_at timestamptz not null,
  constraint steps_pkey primary key (job, name)
);

create table penstock.idempotency_keys (
  owner text not null,
  key text not null,
  job uuid not null,
  fingerprint bytea not null,
  expires_at timestamptz not null,
  constraint idempotency_keys_pkey primary key (owner, key)
);
create index idempotency_keys_expires_at on penstock.idempotency_keys (expires_at);

create table penstock.usage (
  day date not null,
  org text not null,
  kind text not null,
  runs bigint not null,
  seconds double precision not null,
  failures bigint not null,
  bytes bigint not null,
  constraint usage_pkey primary key (day, org, kind)
);

-- Usage is appended here and folded into `usage` by maintain(): two workers finishing jobs of one
-- organisation never wait for each other's commit.
create table penstock.usage_log (like penstock.usage);

create view penstock.usage_so_far with (security_invoker = true) as
  select day, org, kind, sum(runs)::bigint as runs, sum(seconds) as seconds,
         sum(failures)::bigint as failures, sum(bytes)::bigint as bytes
    from (select * from penstock.usage union all select * from penstock.usage_log) as counted
   group by day, org, kind;

create table penstock.settings (
  only_row boolean not null default true constraint settings_pkey primary key,
  history_kept interval not null default '30 days',
  partition_length interval not null default '1 day',
  partitions_ahead int not null default 3,
  constraint there_is_one_row check (only_row),
  constraint history_kept_is_positive check (history_kept > interval '0'),
  constraint partition_length_is_whole_days check (
    partition_length >= interval '1 day' and extract(epoch from partition_length)::bigint % 86400 = 0)
);
insert into penstock.settings default values;
