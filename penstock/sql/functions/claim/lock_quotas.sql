-- One claimer at a time of jobs under a quota, wherever they wait: a quota spans queues. Like lock_limits().
create or replace function penstock.lock_quotas()
returns void
language plpgsql
as $$
begin
  if not exists (select from penstock.quotas where running is not null) then
    return;
  elsif current_setting('transaction_isolation') <> 'read committed' then
    raise exception 'some of these jobs are under a quota: claim them in a read committed transaction' using errcode = 'PS001';
  end if;
  perform penstock.lock('quotas');
end
$$;
