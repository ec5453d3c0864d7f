-- One claimer at a time for a queue that has limits, by a lock taken before the snapshot that counts: that is what makes the
-- limits exact under any number of workers.
create or replace function penstock.lock_limits(p_queue text)
returns void
language plpgsql
as $$
begin
  if current_setting('transaction_isolation') <> 'read committed' then
    raise exception 'queue % has limits: claim from it in a read committed transaction', p_queue
      using errcode = 'PS001';
  end if;
  perform penstock.lock('limits ' || p_queue);
end
$$;
