-- Removes events that nobody waited for in time, and mailboxes that nobody uses. Returns how many events.
create or replace function penstock.forget_events(p_limit int default 10000)
returns int
language plpgsql
set enable_seqscan = off
as $$
declare
  v_now timestamptz := penstock.clock();
  v_expired int;
begin
  delete from penstock.events
   where id = any(array(
           select id from penstock.events where expires_at < v_now order by expires_at limit p_limit for update skip locked));
  get diagnostics v_expired = row_count;
  with unused as (
    select m.event, m.key
      from penstock.mailboxes as m
     where m.used_at < v_now - interval '1 hour'
       and not exists (select from penstock.waits as w where w.event = m.event and w.key = m.key)
       and not exists (select from penstock.events as e where e.event = m.event and e.key = m.key)
     order by m.used_at
     limit p_limit
       for update skip locked
  )
  delete from penstock.mailboxes as m using unused as u where m.event = u.event and m.key = u.key;
  return v_expired;
end
$$;
