create or replace function pgmq.delete(queue_name text, msg_ids bigint[])
returns setof bigint
language plpgsql
as $$
begin
  return query select d.msg_id from pgmq._delete(pgmq._found(pgmq._queue(queue_name), msg_ids)) as d;
end
$$;

create or replace function pgmq.delete(queue_name text, msg_id bigint)
returns boolean
language plpgsql
as $$
begin
  return exists (select from pgmq.delete(queue_name, array[msg_id]));
end
$$;
