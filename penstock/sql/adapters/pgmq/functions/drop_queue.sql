-- The queue goes with its messages. What was archived stays in the jobs' history as long as that is kept, and is no other
-- queue's, even of the same name.
create or replace function pgmq.drop_queue(queue_name text)
returns boolean
language plpgsql security definer
as $$
declare
  v_queue pgmq.meta;
begin
  perform pgmq.format_table_name(queue_name, 'q');
  delete from pgmq.meta as m where m.queue = lower(drop_queue.queue_name) returning * into v_queue;
  if not found then
    raise notice 'pgmq queue `%` does not exist', drop_queue.queue_name;
    return false;
  end if;
  perform from pgmq._delete(pgmq._all_ids(v_queue));
  delete from pgmq.epochs where number = v_queue.number;
  execute format('drop view pgmq.%I, pgmq.%I', 'q_' || v_queue.queue, 'a_' || v_queue.queue);
  execute format('drop sequence pgmq.%I', 'q_' || v_queue.queue || '_msg_id_seq');
  return true;
end
$$;

create or replace function pgmq.drop_queue(queue_name text, partitioned boolean)
returns boolean
language plpgsql
as $$
begin
  raise warning 'drop_queue(queue_name, partitioned) is deprecated and will be removed in PGMQ v2.0. Use drop_queue(queue_name) instead';
  perform pgmq.drop_queue(queue_name);
  return true;
end
$$;
