-- The lease of an idle worker that a new job of the queue may be handed to at once, or null: when nobody waits for that,
-- when the queue is paused or has limits or turns, or when it has jobs that come first.
create or replace function penstock.hand_to(p_queue text)
returns bigint
language plpgsql
set enable_seqscan = off
set plan_cache_mode = force_generic_plan
as $$
declare
  v_lease bigint;
begin
  if exists (select from penstock.queues where name = p_queue and (paused or limited or fair_by is not null))
     or (select jobs > 0 from penstock.ready_jobs(p_queue, 1)) then
    return null;
  end if;
  select l.id
    into v_lease
    from penstock.waiting_now as w
    join penstock.leases as l on l.id = w.lease
   where w.queue = p_queue and w.direct and exists (select from pg_stat_get_activity(w.backend))
   order by random()
   limit 1
     -- it stays until the job is committed: whoever ends it finds the job
     for key share of l skip locked;
  return v_lease;
end
$$;
