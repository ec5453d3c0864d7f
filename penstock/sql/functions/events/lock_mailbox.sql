-- Waits for whoever emits the same event, or comes to wait for it, in another transaction.
create or replace function penstock.lock_mailbox(p_event text, p_key text)
returns void
language plpgsql
as $$
begin
  insert into penstock.mailboxes as m (event, key, used_at)
  values (p_event, p_key, penstock.clock())
      on conflict (event, key) do update set used_at = excluded.used_at;
end
$$;
