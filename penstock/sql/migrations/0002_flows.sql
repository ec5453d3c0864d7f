-- Which unfinished job waits for which.
create table penstock.edges (
  job uuid not null,
  waits_for uuid not null,
  constraint edges_pkey primary key (job, waits_for)
);
create index edges_waits_for on penstock.edges (waits_for);

-- What a handler has done or waits for, so that another run of it does not begin anew: the results of its steps, its sleeps, the jobs it
-- called, the events it waits for.
create table penstock.steps (
  job uuid not null,
  name text not null,
  kind text not null default 'step',
  number int,
  version int,
  output jsonb,
  done_at timestamptz not null,
  constraint steps_pkey primary key (job, name)
);

comment on column penstock.steps.kind is
  'step, value, sleep, call, event or approval.';
comment on column penstock.steps.number is
  'Which of the handler''s steps it was; null for one that ran beside others, whose order is nobody''s choice.';
comment on column penstock.steps.version is
  'Of the handler that took it.';
