-- pgmq's SQL on our engine, by its own names. A message is a job, whose queue and kind are the queue's name, and whose id is made
-- of the queue's number and the message's own. What is read is scheduled for when it shall be visible again; what is archived
-- has succeeded.
--
-- Refuses a database that has the real one, or other schemas of these names: they would be taken for each other.
do $$
begin
  if exists (select from pg_extension where extname = 'pgmq') then
    raise exception 'the extension pgmq is installed in this database: use another one, or drop the extension first';
  end if;
  if exists (select from pg_namespace where nspname in ('pgmq', 'pgmq_public')) then
    raise exception 'there is a schema pgmq or pgmq_public in this database already: use another one, or drop it first';
  end if;
end
$$;

create schema pgmq;
create schema pgmq_public;

-- last_read_at comes last, where clients that read by place do not miss it
create type pgmq.message_record as (
  msg_id bigint,
  read_ct integer,
  enqueued_at timestamptz,
  vt timestamptz,
  message jsonb,
  headers jsonb,
  last_read_at timestamptz
);

create type pgmq.queue_record as (
  queue_name varchar,
  is_partitioned boolean,
  is_unlogged boolean,
  created_at timestamptz
);

create type pgmq.metrics_result as (
  queue_name text,
  queue_length bigint,
  newest_msg_age_sec int,
  oldest_msg_age_sec int,
  total_messages bigint,
  scrape_time timestamptz,
  queue_visible_length bigint
);

create table pgmq.meta (
  queue_name varchar not null constraint meta_queue_name_key unique,
  is_partitioned boolean not null,
  is_unlogged boolean not null,
  created_at timestamptz not null default now(),
  number int generated always as identity constraint meta_number_key unique,
  queue text not null generated always as (lower(queue_name)) stored constraint meta_queue_key unique,
  constraint number_fits_into_an_id check (number < 1048576)
);
-- From anywhere, so that messages which were left as jobs when all this was removed are no messages of queues that come after.
do $$
begin
  execute format('alter table pgmq.meta alter column number restart with %s', 1 + floor(random() * 500000)::int);
end
$$;
comment on column pgmq.meta.number is
  'Of this queue and no other, even one of the same name after it was dropped.';
comment on column pgmq.meta.queue is
  'The queue and the kind of its jobs: pgmq''s names of tables are in lower case.';

-- With which time the ids of messages begin, from which message on: that of the hour, so that a job is found by the number of its
-- message through its primary key, and still lies among the others of its time. Who sends takes the newest that it sees; a
-- message may be of one before, when whoever began the newer one had not committed yet.
create table pgmq.epochs (
  number int not null,
  first_msg_id bigint not null,
  began_at timestamptz not null,
  beginning text not null
);
create index epochs_number on pgmq.epochs (number, first_msg_id desc);
comment on column pgmq.epochs.number is
  'The queue''s.';
comment on column pgmq.epochs.beginning is
  'Of the ids; what follows is the message''s number.';

create unlogged table pgmq.notify_insert_throttle (
  queue_name varchar not null constraint notify_insert_throttle_queue_name_key unique
    constraint notify_insert_throttle_meta_queue_name_fk references pgmq.meta (queue_name) on delete cascade,
  throttle_interval_ms integer not null default 0,
  last_notified_at timestamptz not null default to_timestamp(0)
);
