-- pgmq's SQL on our engine: what is in its schema, by its own names. Refuses a database that has the real one, or another
-- schema of that name: both would be taken for each other by whoever calls.
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
