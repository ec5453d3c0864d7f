-- Jobs that are enqueued by the clock.
create table penstock.schedules (
  name text constraint schedules_pkey primary key,
  cron text not null,
  tz text not null,
  kind text not null,
  args jsonb not null,
  catch_up text not null,
  options jsonb not null,
  source text not null,
  paused boolean not null default false,
  last_tick timestamptz,
  next_tick timestamptz,
  last_job uuid,
  created_at timestamptz not null,
  constraint name_is_not_empty check (name <> ''),
  constraint catch_up_is_known check (catch_up in ('none', 'one', 'all')),
  constraint source_is_known check (source in ('code', 'database'))
);

comment on column penstock.schedules.options is
  'How its jobs are enqueued: the fields of a job, its kind and arguments aside.';
comment on column penstock.schedules.next_tick is
  'The first tick that nobody has dealt with. Null while paused, and until a worker has worked it out.';
