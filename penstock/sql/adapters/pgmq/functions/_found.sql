-- The jobs of messages, as far as there are any. Must use jobs_pkey.
create or replace function pgmq._found(p_queue pgmq.meta, p_msg_ids bigint[])
returns uuid[]
language plpgsql stable
set enable_seqscan = off
set enable_bitmapscan = off
set jit = off
set plan_cache_mode = force_generic_plan
as $$
begin
  return array(
    select id from penstock.jobs
     where id = any(pgmq._ids(p_queue, p_msg_ids, false) || pgmq._ids(p_queue, p_msg_ids, true))
     order by id);
end
$$;
