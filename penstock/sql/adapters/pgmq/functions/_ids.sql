-- The ids that the jobs of messages may have: nearly always those of the newest epoch that began before them. Of the others, where
-- those stand that were sent while it began, with p_older.
create or replace function pgmq._ids(p_queue pgmq.meta, p_msg_ids bigint[], p_older boolean)
returns uuid[]
language plpgsql stable
set enable_seqscan = off
set enable_bitmapscan = off
set plan_cache_mode = force_generic_plan
as $$
declare
  v_epoch pgmq.epochs;
begin
  if not p_older then
    -- when the newest began before all of them, as it mostly has, once for all
    select * into v_epoch from pgmq.epochs where number = p_queue.number order by first_msg_id desc limit 1;
    if v_epoch.first_msg_id <= all(p_msg_ids) then
      return array(select pgmq._job_id(v_epoch.beginning, msg_id) from unnest(p_msg_ids) as msg_id where msg_id < 1099511627776);
    end if;
  end if;
  return array(
    select pgmq._job_id(e.beginning, m.msg_id)
      from unnest(p_msg_ids) as m (msg_id)
     cross join lateral (
       select beginning from pgmq.epochs
        where number = p_queue.number and first_msg_id <= m.msg_id
        order by first_msg_id desc
       offset p_older::int
        limit case when not p_older then 1 end) as e
     where m.msg_id < 1099511627776);
end
$$;
