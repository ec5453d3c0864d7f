-- One job, from any language: select penstock.enqueue('send_email', '{"to": "ada@example.com"}').
-- Returns its id: the existing job's, when a unique or idempotency key stands for one.
create or replace function penstock.enqueue(
  kind text, args jsonb default '{}', queue text default 'default', run_at timestamptz default null,
  priority int default 0, max_attempts int default 5, owner text default null, org text default null,
  unique_key text default null, limit_key text default null, idempotency_key text default null,
  after uuid[] default null, options jsonb default null
)
returns uuid
language sql
as $$
  select id
    from penstock.enqueue_jobs(jsonb_build_array(jsonb_strip_nulls(jsonb_build_object(
      'kind', kind, 'queue', queue, 'run_at', run_at, 'priority', priority,
      'max_attempts', max_attempts, 'owner', owner, 'org', org, 'unique_key', unique_key, 'limit_key', limit_key,
      'idempotency_key', idempotency_key, 'after', to_jsonb(after)))
      || jsonb_build_object('args', args)
      || case when options is null then '{}' else jsonb_build_object('options', options) end))
$$;
