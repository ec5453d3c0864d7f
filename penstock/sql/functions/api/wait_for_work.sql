-- An idle worker asks to be woken: it calls this on the connection that LISTENs to the channel `wake`, claims
-- once more, then sleeps. A row promises "I have a free slot and will claim when told"; with p_direct also "I run what I
-- am handed on `hand`".
-- Returns in how many seconds to look again all the same: a queue with a rate has jobs that only time lets start.
-- Infinity: there is a rate, and no job yet that waits for it. Null: no rate. So has a queue whose jobs wait for others of
-- their owners to end, which may run in queues that nobody here is told of.
create or replace function penstock.wait_for_work(
  p_lease bigint, p_queues text[], p_backend int default pg_backend_pid(), p_direct boolean default false
)
returns double precision
language plpgsql
set enable_seqscan = off
set enable_bitmapscan = off
as $$
begin
  perform from penstock.jobs where false; -- locks it, before there is a number: see has_ended()
  perform pg_catalog.pg_current_xact_id();
  delete from penstock.waiting_now where lease = p_lease and queue = any(p_queues);
  insert into penstock.waiting (queue, lease, backend, direct)
  select name, p_lease, p_backend, p_direct from unnest(p_queues) as name;
  return least((
    select min(1.0) from unnest(p_queues) as waited (name) where penstock.under_quota(waited.name)
  ), (
    select min(case when not q.paused
                         and (select jobs > 0 from penstock.ready_jobs(q.name, 1))
                    then greatest(extract(epoch from q.rate_period) / 20, 0.02)
                    else 'infinity' end)
      from penstock.queues as q
     where q.name = any(p_queues) and (q.rate is not null or q.rate_per_key is not null)));
end
$$;
