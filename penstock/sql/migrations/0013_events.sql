-- What a handler has done or waits for, so that another run of it does not begin anew: the results of its steps, its sleeps, the jobs
-- it called, the events it waits for.
alter table penstock.steps
  add column kind text not null default 'step',
  add column number int,
  add column version int;

comment on column penstock.steps.kind is
  'step, sleep, call, event, approval or callback.';
comment on column penstock.steps.number is
  'Which of the handler''s steps it was; null for one that ran beside others, whose order is nobody''s choice.';
comment on column penstock.steps.version is
  'Of the handler that took it.';

-- they take and give more from here on
drop function if exists penstock.remember_step(bigint, uuid, int, text, jsonb);
drop function if exists penstock.recall_steps(bigint, uuid, int);
drop function if exists penstock.steps_of(uuid);

-- Where events and those who wait for them meet: whoever emits one or comes to wait locks the row, so that neither misses the other.
-- A row of its own for each, because an open transaction of a caller must hold up nobody but those who wait for the same.
create table penstock.mailboxes (
  event text not null,
  key text not null,
  used_at timestamptz not null,
  constraint mailboxes_pkey primary key (event, key)
);

-- Events that nobody has waited for yet.
create table penstock.events (
  id uuid not null,
  event text not null,
  key text not null,
  payload jsonb,
  emitted_at timestamptz not null,
  expires_at timestamptz not null,
  constraint events_pkey primary key (id)
);
create index events_mailbox on penstock.events (event, key, id);
create index events_expired on penstock.events (expires_at);

-- Who waits for which. A row may outlive its job by a while: whoever meets it looks.
create table penstock.waits (
  job uuid not null,
  step text not null,
  event text not null,
  key text not null,
  since timestamptz not null,
  constraint waits_pkey primary key (job, step)
);
create index waits_mailbox on penstock.waits (event, key, since);
