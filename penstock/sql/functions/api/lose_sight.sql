-- Whoever listens at p_backend for a worker has lost sight of it (its connection broke, or it did not come back for what
-- it was told): it is not woken there any more, and for what it may have been told another is. A worker that is listened
-- for elsewhere by now is left alone. Returns how many queues it waited for.
create or replace function penstock.lose_sight(p_lease bigint, p_backend int)
returns int
language plpgsql
set enable_seqscan = off
as $$
declare
  v_queues text[];
begin
  with gone as (
    delete from penstock.waiting_now where lease = p_lease and backend = p_backend returning queue
  )
  select coalesce(array_agg(queue), '{}') into v_queues from gone;
  perform penstock.wake(queue) from unnest(v_queues) as queue;
  return cardinality(v_queues);
end
$$;
