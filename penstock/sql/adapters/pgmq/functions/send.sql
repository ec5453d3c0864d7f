create or replace function pgmq.send(queue_name text, msg jsonb)
returns setof bigint
language plpgsql
as $$
begin
  return query select unnest(pgmq._send(queue_name, array[msg], null, penstock.clock()));
end
$$;

create or replace function pgmq.send(queue_name text, msg jsonb, headers jsonb)
returns setof bigint
language plpgsql
as $$
begin
  return query select unnest(pgmq._send(queue_name, array[msg], array[headers], penstock.clock()));
end
$$;

create or replace function pgmq.send(queue_name text, msg jsonb, delay integer)
returns setof bigint
language plpgsql
as $$
begin
  return query select unnest(pgmq._send(queue_name, array[msg], null, penstock.clock() + make_interval(secs => delay)));
end
$$;

create or replace function pgmq.send(queue_name text, msg jsonb, delay timestamptz)
returns setof bigint
language plpgsql
as $$
begin
  return query select unnest(pgmq._send(queue_name, array[msg], null, delay));
end
$$;

create or replace function pgmq.send(queue_name text, msg jsonb, headers jsonb, delay integer)
returns setof bigint
language plpgsql
as $$
begin
  return query select unnest(pgmq._send(queue_name, array[msg], array[headers], penstock.clock() + make_interval(secs => delay)));
end
$$;

create or replace function pgmq.send(queue_name text, msg jsonb, headers jsonb, delay timestamptz)
returns setof bigint
language plpgsql
as $$
begin
  return query select unnest(pgmq._send(queue_name, array[msg], array[headers], delay));
end
$$;
