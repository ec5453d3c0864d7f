-- Wakes as many waiting workers of a queue as it has new jobs. A busy system has nobody waiting and sends
-- no NOTIFY at all, which would take a lock on the whole database at commit. A worker whose LISTEN backend
-- is gone (killed, cut off) is passed over.
create or replace function penstock.wake(p_queue text, p_jobs int default 1)
returns void
language plpgsql
set enable_seqscan = off
as $$
begin
  if not exists (select from penstock.waiting_now where queue = p_queue) then
    return;
  end if;
  perform pg_notify((select wake from penstock.channels), chosen.lease::text)
     from (select w.lease
             from penstock.waiting_now as w
            where w.queue = p_queue
              and exists (select from pg_stat_get_activity(w.backend))
            order by random()
            limit p_jobs) as chosen;
end
$$;
