-- A running job belongs to its worker's lease.
create table penstock.leases (
  id bigint generated always as identity constraint leases_pkey primary key,
  worker text not null,
  host text,
  pid int,
  queues text[] not null default '{}',
  kinds text[],
  length interval not null,
  started_at timestamptz not null,
  expires_at timestamptz not null
) with (fillfactor = 50);

comment on column penstock.leases.kinds is
  'What its worker has handlers of; null: it does not say.';

-- Which idle workers want to be woken; of no use after a crash, hence unlogged. They come and go with every job: whoever looks does
-- so through waiting_now.
create sequence penstock.waiting_numbers;
create unlogged table penstock.waiting (
  number bigint not null default nextval('penstock.waiting_numbers') constraint waiting_pkey primary key,
  queue text not null,
  lease bigint not null,
  backend int not null,
  direct boolean not null default false
);
create index waiting_queue on penstock.waiting (queue, number);
comment on column penstock.waiting.direct is
  'Whether an enqueue may hand a job straight to the worker, which then need not claim it.';

-- Which worker does what happens now and then, so that any number of them costs no more than one. A table, not a
-- session's lock: it works behind a transaction pooler too.
create table penstock.leader (
  only_row boolean not null default true constraint leader_pkey primary key,
  lease bigint not null,
  until timestamptz not null,
  constraint there_is_one_leader check (only_row)
) with (fillfactor = 50);
insert into penstock.leader (lease, until) values (0, '-infinity');
