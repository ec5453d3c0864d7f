-- A new hour of a queue's ids. Several may begin at once, one of each who sends meanwhile: nobody waits for another. Those whose
-- messages are no longer even in history go.
create or replace function pgmq._begin_epoch(p_queue pgmq.meta, p_first_msg_id bigint, p_at timestamptz)
returns pgmq.epochs
language plpgsql
as $$
declare
  v_epoch pgmq.epochs;
begin
  delete from pgmq.epochs as e
   where e.number = p_queue.number
     and e.began_at < p_at - (select history_kept from penstock.settings) - interval '2 days'
     and not exists (
       select from penstock.jobs
        where id between pgmq._first_id(e.beginning) and pgmq._last_id(e.beginning));
  insert into pgmq.epochs (number, first_msg_id, began_at, beginning)
  values (p_queue.number, p_first_msg_id, p_at, pgmq._beginning(p_at, p_queue.number))
  returning * into v_epoch;
  return v_epoch;
end
$$;
