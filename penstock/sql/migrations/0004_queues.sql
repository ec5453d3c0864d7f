-- A queue without a row here has no limits, and the defaults below.
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
  parked_timeout interval,
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
  constraint parked_timeout_is_positive check (parked_timeout > interval '0'),
  constraint fair_by_is_a_column check (fair_by in ('owner', 'org', 'limit_key')),
  constraint keep_is_all_or_failed check (keep in ('all', 'failed'))
);

-- What applications have last said of their queues in code. The queues themselves hold what counts: the code changes them only
-- when it says something else than the last time, so that what an operator sets in between stays.
create table penstock.declared_queues (
  queue text constraint declared_queues_pkey primary key,
  settings jsonb not null
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
  constraint turns_pkey primary key (queue, key, turn)
);

-- What nobody can change any more: see raise_horizon(). One row, written anew each time and read newest first, as those of
-- floors. Of no use after a crash, hence unlogged.
create sequence penstock.floor_numbers;
create unlogged table penstock.horizons (
  number bigint not null,
  raised_at timestamptz not null,
  settled bigint,
  settled_turn bigint,
  settled_at timestamptz,
  settled_waiting bigint,
  noted bigint,
  noted_turn bigint,
  noted_at timestamptz,
  noted_waiting bigint,
  horizon xid8
);
create unique index horizons_newest on penstock.horizons (number desc);
comment on column penstock.horizons.horizon is
  'When all transactions below this number have ended, what was noted is settled.';

-- Below which turns nothing is ready: see raise_floor(). One row for each line of a queue.
create type penstock.laggard as (quota text, member text, priority int, turn bigint, id uuid);
create unlogged table penstock.floors (
  queue text not null,
  line int not null,
  number bigint not null,
  raised_at timestamptz not null,
  settled bigint,
  noted bigint not null,
  noted_turn bigint,
  fair boolean not null,
  priorities int[] not null,
  turns bigint[] not null,
  ids uuid[] not null,
  lagging penstock.laggard[] not null,
  crowded boolean not null
);
create unique index floors_newest on penstock.floors (queue, line, number desc);
comment on column penstock.floors.crowded is
  'A claim found the window past the marks full of jobs that may not start.';
comment on column penstock.floors.lagging is
  'Who has ready jobs below the marks all the same, and from where on.';
comment on column penstock.floors.noted is
  'When the horizon has settled this number, turns are of the kind that `fair` says; in a fair queue those up to noted_turn are settled.';

-- Before which times nothing is scheduled, and nothing runs but what is named, and before which nobody waits: see raise_time_floor(). One row for all queues.
create unlogged table penstock.time_floors (
  number bigint not null,
  raised_at timestamptz not null,
  due_since timestamptz not null,
  started_since timestamptz not null,
  waiting_since bigint not null,
  started_before uuid[] not null,
  started_by text[] not null
);
create unique index time_floors_newest on penstock.time_floors (number desc);
comment on column penstock.time_floors.started_by is
  'Whose they are, of those under a quota.';

-- The same rows, from where there are any: an old snapshot keeps those of every worker that ever waited.
create view penstock.waiting_now with (security_invoker = true) as
  select * from penstock.waiting
   where number >= coalesce((select waiting_since from penstock.time_floors as t order by t.number desc limit 1), 0);
