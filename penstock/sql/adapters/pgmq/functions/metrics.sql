-- What a worker of ours runs counts to its length, and is not visible.
create or replace function pgmq.metrics(queue_name text)
returns pgmq.metrics_result
language plpgsql
set enable_seqscan = off
as $$
declare
  v_queue pgmq.meta := pgmq._queue(metrics.queue_name);
  v_found pgmq.metrics_result;
begin
  v_found.queue_name := metrics.queue_name;
  v_found.scrape_time := now();
  v_found.total_messages := coalesce(
    pg_sequence_last_value(format('pgmq.%I', 'q_' || v_queue.queue || '_msg_id_seq')::regclass), 0);
  select count(*), count(*) filter (where state in ('scheduled', 'ready') and run_at <= now()),
         extract(epoch from now() - max(created_at))::int, extract(epoch from now() - min(created_at))::int
    into v_found.queue_length, v_found.queue_visible_length, v_found.newest_msg_age_sec, v_found.oldest_msg_age_sec
    from (select distinct beginning from pgmq.epochs where number = v_queue.number) as e
    join penstock.jobs as j on j.id between pgmq._first_id(e.beginning) and pgmq._last_id(e.beginning);
  return v_found;
end
$$;
