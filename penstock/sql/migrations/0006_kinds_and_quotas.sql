-- What users may start by themselves, and how such jobs are enqueued.
create table penstock.kinds (
  kind text constraint kinds_pkey primary key,
  template jsonb not null,
  is_unique boolean not null default false,
  quota text,
  declared_with text[] not null default '{}'
);
comment on column penstock.kinds.template is
  'The fields of a job that its starter does not choose: queue, priority, max_attempts, options...';
comment on column penstock.kinds.is_unique is
  'While a job of the same owner with the same arguments is unfinished, it stands for further ones.';
comment on column penstock.kinds.declared_with is
  'What else the application had handlers of that opened the kind: by that it is known again when it has dropped this one.';

-- How much one user may do; null is no limit.
create table penstock.quotas (
  name text constraint quotas_pkey primary key,
  per_day int,
  running int,
  unfinished int,
  storage bigint,
  constraint per_day_is_not_negative check (per_day >= 0),
  constraint running_is_positive check (running > 0),
  constraint unfinished_is_positive check (unfinished > 0),
  constraint storage_is_not_negative check (storage >= 0)
);

create table penstock.operations (
  owner text not null,
  quota text not null,
  day date not null,
  used int not null,
  constraint operations_pkey primary key (owner, quota, day)
) with (fillfactor = 50);

create table penstock.idempotency_keys (
  owner text not null,
  key text not null,
  of_user boolean not null default false,
  job uuid not null,
  fingerprint bytea not null,
  expires_at timestamptz not null,
  constraint idempotency_keys_pkey primary key (owner, of_user, key)
);
create index idempotency_keys_expires_at on penstock.idempotency_keys (expires_at);
comment on column penstock.idempotency_keys.of_user is
  'A user''s own keys, and those of whoever starts jobs on their behalf, have nothing to do with each other.';
