-- The oldest event that nobody has had yet, as a step remembers it; null when there is none. The caller has locked the mailbox.
create or replace function penstock.take_event(p_event text, p_key text)
returns jsonb
language plpgsql
set enable_seqscan = off
as $$
declare
  v_taken jsonb;
begin
  delete from penstock.events
   where id = (select id from penstock.events
                where event = p_event and key = p_key and expires_at > penstock.clock()
                order by id
                limit 1)
  returning jsonb_build_object('payload', payload, 'emitted_at', emitted_at) into v_taken;
  return v_taken;
end
$$;
