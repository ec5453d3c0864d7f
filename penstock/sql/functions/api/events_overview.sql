-- Which events jobs wait for, and which nobody has waited for yet, by event and key: how many, counted to 1,000, and since when the
-- oldest. At most p_limit of them, and p_keys of one event, in their order. Approvals and callbacks have lists of their own. One look-up
-- in waits_mailbox and one in events_mailbox for each, however many wait.
create or replace function penstock.events_overview(p_limit int default 100, p_keys int default 20)
returns table (event text, key text, waiting int, kept int, since timestamptz)
language plpgsql stable
set enable_seqscan = off
set enable_bitmapscan = off
set enable_sort = off
set jit = off
as $$
#variable_conflict use_column
declare
  v_event text := '';
  v_key text := '';
  v_rows int := 0;
  v_of_event int := 0;
begin
  -- whoever makes up names of events makes the walk no longer than this
  for v_look in 1..1000 loop
    if v_of_event < p_keys and v_event not like penstock.own_name('%') then
      select n.event, n.key into event, key
        from ((select w.event, w.key from penstock.waits as w where (w.event, w.key) > (v_event, v_key)
                order by w.event, w.key limit 1)
              union all
              (select e.event, e.key from penstock.events as e where (e.event, e.key) > (v_event, v_key)
                order by e.event, e.key limit 1)) as n
       order by n.event, n.key
       limit 1;
    else
      select n.event, n.key into event, key
        from ((select w.event, w.key from penstock.waits as w where w.event > v_event order by w.event, w.key limit 1)
              union all
              (select e.event, e.key from penstock.events as e where e.event > v_event order by e.event, e.key limit 1)) as n
       order by n.event, n.key
       limit 1;
    end if;
    exit when not found or v_rows = p_limit;
    v_of_event := case when event = v_event then v_of_event else 0 end;
    v_event := event;
    v_key := key;
    continue when v_event like penstock.own_name('%');
    select count(*), min(w.since) into waiting, since
      from (select w.since from penstock.waits as w where w.event = v_event and w.key = v_key order by w.since limit 1000) as w;
    select count(*), least(since, min(e.emitted_at)) into kept, since
      from (select e.emitted_at from penstock.events as e
             where e.event = v_event and e.key = v_key and e.expires_at > penstock.clock() order by e.id limit 1000) as e;
    continue when waiting + kept = 0;
    v_rows := v_rows + 1;
    v_of_event := v_of_event + 1;
    return next;
  end loop;
end
$$;
