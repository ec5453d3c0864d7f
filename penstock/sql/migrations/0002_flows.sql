-- Which unfinished job waits for which.
create table penstock.edges (
  job uuid not null,
  waits_for uuid not null,
  constraint edges_pkey primary key (job, waits_for)
);
create index edges_waits_for on penstock.edges (waits_for);

-- Remembered results of durable steps.
create table penstock.steps (
  job uuid not null,
  name text not null,
  output jsonb,
  done_at timestamptz not null,
  constraint steps_pkey primary key (job, name)
);
