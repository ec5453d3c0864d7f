-- Who may look at a queue: those who watch over the database, and the service, which may send to it too.
create or replace function pgmq._grant(p_queue text)
returns void
language plpgsql
as $$
begin
  execute format('grant select on pgmq.%I, pgmq.%I to pg_monitor', 'q_' || p_queue, 'a_' || p_queue);
  execute format('grant select on sequence pgmq.%I to pg_monitor', 'q_' || p_queue || '_msg_id_seq');
  if exists (select from pg_roles where rolname = 'service_role') then
    execute format('grant select on pgmq.%I, pgmq.%I to service_role', 'q_' || p_queue, 'a_' || p_queue);
    execute format('grant usage, select on sequence pgmq.%I to service_role', 'q_' || p_queue || '_msg_id_seq');
  end if;
end
$$;
