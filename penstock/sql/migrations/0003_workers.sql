-- A running job belongs to its worker's lease.
create table penstock.leases (
  id bigint generated always as identity constraint leases_pkey primary key,
  worker text not null,
  host text,
  pid int,
  queues text[] not null default '{}',
  kinds text[],
  length interval not null,
  started_at timestamptz not null
);

comment on column penstock.leases.kinds is
  'What its worker has handlers of; null: it does not say.';

-- Until when a lease lasts: the row with the highest number. Each heartbeat writes a new one and deletes the last, so that whoever
-- looks from the newest on meets no version that somebody's old snapshot keeps; the lease itself, which every claim looks up, is
-- never written again.
create table penstock.heartbeats (
  lease bigint not null constraint heartbeats_of_a_lease references penstock.leases (id) on delete cascade,
  number bigint not null default 1,
  expires_at timestamptz not null,
  constraint heartbeats_pkey primary key (lease, number)
);
create view penstock.leases_now with (security_invoker = true) as
  select l.*, coalesce((
           select h.expires_at from penstock.heartbeats as h where h.lease = l.id order by h.number desc limit 1
         ), '-infinity') as expires_at
    from penstock.leases as l;

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
-- session's lock: it works behind a transaction pooler too. One row, written anew each time and read newest first, as heartbeats.
create table penstock.leader (
  number bigint constraint leader_pkey primary key,
  lease bigint not null,
  until timestamptz not null
);
insert into penstock.leader (number, lease, until) values (1, 0, '-infinity');
