-- What a worker has to say now and then: p_runs are the runs that ended since the last time, by queue and kind,
--   [{"queue", "kind", "succeeded", "failed", "retried", "cancelled", "waited": [int], "ran": [int], "waited_seconds", "ran_seconds"}]
-- and p_errors those that failed, by what they said, [{"kind", "queue", "type", "message", "attempts", "jobs", "example"}].
-- p_memory (bytes), p_load (of one processor) and p_slots are the worker's own.
create or replace function penstock.report_statistics(
  p_lease bigint, p_runs jsonb default '[]', p_errors jsonb default '[]', p_memory bigint default null,
  p_load double precision default null, p_slots int default null
)
returns void
language plpgsql
set enable_seqscan = off
as $$
declare
  v_last bigint;
begin
  if p_runs <> '[]' or p_errors <> '[]' then
    insert into penstock.reports (at, runs, errors) values (penstock.clock(), p_runs, p_errors);
  end if;
  if p_memory is not null then
    select number into v_last from penstock.vitals where lease = p_lease order by number desc limit 1;
    insert into penstock.vitals (lease, number, memory, load, slots)
    select id, coalesce(v_last, 0) + 1, p_memory, p_load, p_slots from penstock.leases where id = p_lease
        on conflict do nothing;
    delete from penstock.vitals where lease = p_lease and number = v_last;
  end if;
end
$$;
