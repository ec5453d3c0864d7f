-- What Supabase shows of a queue to programs over HTTP, by its names.
create or replace function pgmq_public.send(queue_name text, message jsonb, sleep_seconds integer default 0)
returns setof bigint
language plpgsql
as $$
begin
  return query select * from pgmq.send(queue_name, message, sleep_seconds);
end
$$;
comment on function pgmq_public.send(text, jsonb, integer) is
  'Sends a message to the specified queue, optionally delaying its availability by a number of seconds.';

create or replace function pgmq_public.send_batch(queue_name text, messages jsonb[], sleep_seconds integer default 0)
returns setof bigint
language plpgsql
as $$
begin
  return query select * from pgmq.send_batch(queue_name, messages, sleep_seconds);
end
$$;
comment on function pgmq_public.send_batch(text, jsonb[], integer) is
  'Sends a batch of messages to the specified queue, optionally delaying their availability by a number of seconds.';

-- at Supabase neither has a default; callers leave them out all the same
create or replace function pgmq_public.read(queue_name text, sleep_seconds integer default 30, n integer default 1)
returns setof pgmq.message_record
language plpgsql
as $$
begin
  return query select * from pgmq.read(queue_name, sleep_seconds, n);
end
$$;
comment on function pgmq_public.read(text, integer, integer) is
  'Reads up to n messages from the specified queue and hides them for a number of seconds.';

create or replace function pgmq_public.pop(queue_name text)
returns setof pgmq.message_record
language plpgsql
as $$
begin
  return query select * from pgmq.pop(queue_name);
end
$$;
comment on function pgmq_public.pop(text) is
  'Takes the next message from the specified queue and deletes it.';

create or replace function pgmq_public.archive(queue_name text, message_id bigint)
returns boolean
language plpgsql
as $$
begin
  return pgmq.archive(queue_name, message_id);
end
$$;
comment on function pgmq_public.archive(text, bigint) is
  'Moves a message from the specified queue to its archive.';

create or replace function pgmq_public.delete(queue_name text, message_id bigint)
returns boolean
language plpgsql
as $$
begin
  return pgmq.delete(queue_name, message_id);
end
$$;
comment on function pgmq_public.delete(text, bigint) is
  'Deletes a message from the specified queue.';
