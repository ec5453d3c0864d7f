create or replace function pgmq.send_batch(queue_name text, msgs jsonb[])
returns setof bigint
language plpgsql
as $$
begin
  perform pgmq._validate_batch_params(msgs, null);
  return query select unnest(pgmq._send(queue_name, msgs, null, penstock.clock()));
end
$$;

create or replace function pgmq.send_batch(queue_name text, msgs jsonb[], headers jsonb[])
returns setof bigint
language plpgsql
as $$
begin
  perform pgmq._validate_batch_params(msgs, headers);
  return query select unnest(pgmq._send(queue_name, msgs, headers, penstock.clock()));
end
$$;

create or replace function pgmq.send_batch(queue_name text, msgs jsonb[], delay integer)
returns setof bigint
language plpgsql
as $$
begin
  perform pgmq._validate_batch_params(msgs, null);
  return query select unnest(pgmq._send(queue_name, msgs, null, penstock.clock() + make_interval(secs => delay)));
end
$$;

create or replace function pgmq.send_batch(queue_name text, msgs jsonb[], delay timestamptz)
returns setof bigint
language plpgsql
as $$
begin
  perform pgmq._validate_batch_params(msgs, null);
  return query select unnest(pgmq._send(queue_name, msgs, null, delay));
end
$$;

create or replace function pgmq.send_batch(queue_name text, msgs jsonb[], headers jsonb[], delay integer)
returns setof bigint
language plpgsql
as $$
begin
  perform pgmq._validate_batch_params(msgs, headers);
  return query select unnest(pgmq._send(queue_name, msgs, headers, penstock.clock() + make_interval(secs => delay)));
end
$$;

create or replace function pgmq.send_batch(queue_name text, msgs jsonb[], headers jsonb[], delay timestamptz)
returns setof bigint
language plpgsql
as $$
begin
  perform pgmq._validate_batch_params(msgs, headers);
  return query select unnest(pgmq._send(queue_name, msgs, headers, delay));
end
$$;
