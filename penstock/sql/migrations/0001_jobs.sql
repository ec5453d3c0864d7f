-- Unfinished jobs live in `jobs`; a finished job moves to `history` in the statement that finishes it.
-- Nothing references `jobs` by foreign key, because its rows move away. It has no check constraints either: Postgres
-- evaluates them on every update, which made a claim a fifth dearer. What may enter is checked at the doors (new_job, the
-- client).

create type penstock.job_state as enum
  ('blocked', 'scheduled', 'ready', 'running', 'succeeded', 'failed', 'cancelled');

-- Turns in line, see next_turn().
create sequence penstock.turn_numbers;

create table penstock.jobs (
  id uuid not null,
  created_at timestamptz not null,
  run_at timestamptz not null,
  started_at timestamptz,
  parked_since timestamptz,
  turn bigint not null default nextval('penstock.turn_numbers'),
  lease bigint,
  state penstock.job_state not null,
  priority int not null default 0,
  attempt int not null default 0,
  max_attempts int not null default 5,
  claims int not null default 0,
  snoozes int not null default 0,
  max_snoozes int,
  error_count int,
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
  quota text,
  phase text,
  parked_reason text,
  args jsonb default '{}',
  progress jsonb,
  rollup jsonb,
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
comment on column penstock.jobs.priority is
  'Higher goes first.';
comment on column penstock.jobs.turn is
  'Place in line at its priority, given when the job becomes ready: below zero at the front. A fair queue has turns of its own.';
comment on column penstock.jobs.counted is
  'Claimed from a queue with limits, or under a quota: whoever waits for them is woken when it ends.';
comment on column penstock.jobs.awaited is
  'Another job waits for this one (a row in edges).';
comment on column penstock.jobs.args is
  'Null when they are large: then they are in payloads.';
comment on column penstock.jobs.error_count is
  'How many errors it was given, which are in errors; null for none.';
comment on column penstock.jobs.parked_since is
  'Since when workers have met this job without knowing its kind or arguments; null again as soon as one ran it.';
comment on column penstock.jobs.quota is
  'The quota of its owner that it counts against while it runs; null without an owner, and where its starter chose so.';

-- Each queue has two lines: jobs under a quota stand in one of their own (1), so that a claim of the others steps over none of
-- them. The second index has those that share a limit by whom they share it with: in line 0 the jobs of a key, in line 1 those of
-- an owner under a quota.
create index jobs_ready on penstock.jobs (queue, ((quota is not null)::int), priority desc, turn, id) where state = 'ready';
create index jobs_ready_by_member on penstock.jobs (
  queue, coalesce(quota, ''), (case when quota is null then limit_key else owner end), priority desc, turn, id)
  where state = 'ready' and (case when quota is null then limit_key else owner end) is not null;
create index jobs_running on penstock.jobs (lease, started_at) where state = 'running';
create index jobs_to_stop on penstock.jobs (lease) where state = 'running' and cancel_requested;
create index jobs_running_quota on penstock.jobs (quota, owner, started_at) where state = 'running' and quota is not null;
create index jobs_scheduled on penstock.jobs (run_at) where state = 'scheduled';
create index jobs_blocked on penstock.jobs (queue) where waiting_on > 0;
create index jobs_parked on penstock.jobs (kind, queue) where parked_since is not null;
-- Tenants never meet in a unique key, whatever its text says.
create unique index jobs_unique on penstock.jobs (kind, unique_key, coalesce(owner, ''), coalesce(org, ''))
  where unique_key is not null;
create index jobs_owner on penstock.jobs (owner, id) where owner is not null;
create index jobs_org on penstock.jobs (org, id) where org is not null;
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
  error_count int,
  weight real,
  awaited boolean not null,
  queue text not null,
  kind text not null,
  parent uuid,
  owner text,
  org text,
  unique_key text,
  limit_key text,
  quota text,
  phase text,
  args jsonb,
  progress jsonb,
  rollup jsonb,
  options jsonb,
  output jsonb,
  constraint history_pkey primary key (id)
) partition by range (id);

create index history_given_up on penstock.history (queue, id) where state = 'failed';
create index history_owner on penstock.history (owner, id) where owner is not null;
create index history_org on penstock.history (org, id) where org is not null;
create index history_parent on penstock.history (parent) where parent is not null;

-- Takes ids of no partition: jobs that waited longer than the retention, clocks that were wrong.
create table penstock.history_strays partition of penstock.history default;

-- Large arguments, written once: a job's row is written again when it is claimed, at each report of its progress and when it moves
-- to history, and would take them along. Partitions come and go with history's; strays as there. As json, which is the text that was
-- given: jsonb is made at every enqueue and made text again at every claim (10 KB: three times the work of a check, and as much).
create table penstock.payloads (
  id uuid not null,
  owner text,
  org text,
  args json not null,
  constraint payloads_pkey primary key (id)
) partition by range (id);
create table penstock.payloads_strays partition of penstock.payloads default;

-- The errors of a job's attempts, for the same reason beside it: a traceback is written once, whatever becomes of the job.
create table penstock.errors (
  id uuid not null,
  number int not null,
  error jsonb not null,
  constraint errors_pkey primary key (id, number)
) partition by range (id);
create table penstock.errors_strays partition of penstock.errors default;

comment on column penstock.payloads.id is
  'The job''s.';
comment on column penstock.errors.id is
  'The job''s.';

-- Not every server was built with lz4. Postgres's own way takes so long (10 KB: 190 of 280 us an enqueue) for so little (a
-- quarter of random words) that without lz4 arguments are not compressed at all; outputs and errors are, which are read less.
do $$
begin
  alter table penstock.history alter column output set compression lz4;
  alter table penstock.history_strays alter column output set compression lz4;
  alter table penstock.payloads alter column args set compression lz4;
  alter table penstock.payloads_strays alter column args set compression lz4;
  alter table penstock.errors alter column error set compression lz4;
  alter table penstock.errors_strays alter column error set compression lz4;
exception when feature_not_supported then
  alter table penstock.payloads alter column args set storage external;
  alter table penstock.payloads_strays alter column args set storage external;
end
$$;

-- the views name these, so they come before their files
create function penstock.payload_of(p_id uuid) returns jsonb language sql stable as 'select null::jsonb';
create function penstock.errors_of(p_id uuid) returns jsonb language sql stable as 'select null::jsonb';

-- What is elsewhere is looked up above the union: there the planner does so after sorting and for the rows of a page alone.
create view penstock.all_jobs with (security_invoker = true) as
  select id, queue, kind, state, priority, attempt, max_attempts, snoozes, max_snoozes, waiting_on,
         parent, owner, org, unique_key, limit_key, phase, weight, cancel_requested,
         coalesce(args, penstock.payload_of(id)) as args, progress, rollup,
         case when error_count is not null then penstock.errors_of(id) end as errors, options, output,
         lease, claims, created_at, run_at, started_at, finished_at, parked_since, parked_reason
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
