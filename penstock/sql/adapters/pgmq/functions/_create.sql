-- Makes a queue: the sequence of its messages' numbers, and views that look as pgmq's tables do. With its owner's rights, as
-- these need. Whoever makes the same one at the same time waits, and finds it made.
create or replace function pgmq._create(p_queue_name text, p_partitioned boolean, p_unlogged boolean)
returns void
language plpgsql security definer
as $$
declare
  v_messages text := pgmq.format_table_name(p_queue_name, 'q');
  v_archive text := pgmq.format_table_name(p_queue_name, 'a');
  v_queue pgmq.meta;
begin
  perform pgmq.validate_queue_name(p_queue_name);
  insert into pgmq.meta (queue_name, is_partitioned, is_unlogged)
  values (p_queue_name, p_partitioned, p_unlogged)
      on conflict do nothing
  returning * into v_queue;
  if not found then
    return;
  end if;
  execute format('create sequence pgmq.%I maxvalue 1099511627775', v_messages || '_msg_id_seq');
  execute format(
    'create view pgmq.%I as
       select pgmq._msg_id(j.id) as msg_id, j.claims as read_ct, j.created_at as enqueued_at, j.run_at as vt,
              pgmq._body(coalesce(j.args, p.args::jsonb), j.options) as message, j.options->''headers'' as headers, j.started_at as last_read_at
         from (select distinct beginning from pgmq.epochs where number = %s) as e
         join penstock.jobs as j on j.id between pgmq._first_id(e.beginning) and pgmq._last_id(e.beginning)
         left join penstock.payloads as p on p.id = j.id and j.args is null',
    v_messages, v_queue.number);
  execute format(
    'create view pgmq.%I as
       select pgmq._msg_id(h.id) as msg_id, h.claims as read_ct, h.created_at as enqueued_at, h.finished_at as archived_at,
              h.run_at as vt, pgmq._body(coalesce(h.args, p.args::jsonb), h.options) as message, h.options->''headers'' as headers,
              h.started_at as last_read_at
         from (select distinct beginning from pgmq.epochs where number = %s) as e
         join penstock.history as h on h.id between pgmq._first_id(e.beginning) and pgmq._last_id(e.beginning)
         left join penstock.payloads as p on p.id = h.id and h.args is null
        where h.state = ''succeeded''',
    v_archive, v_queue.number);
  perform pgmq._grant(v_queue.queue);
end
$$;
