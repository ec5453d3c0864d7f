-- The jobs of all messages of a queue. Must use jobs_pkey.
create or replace function pgmq._all_ids(p_queue pgmq.meta)
returns uuid[]
language plpgsql stable
set enable_seqscan = off
as $$
begin
  return array(
    select j.id
      from (select distinct beginning from pgmq.epochs where number = p_queue.number) as e
      join penstock.jobs as j on j.id between pgmq._first_id(e.beginning) and pgmq._last_id(e.beginning));
end
$$;
