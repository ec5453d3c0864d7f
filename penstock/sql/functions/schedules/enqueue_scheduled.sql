-- Enqueues a job of a schedule, which carries among its options whose it is and for which tick. Returns its id: the
-- earlier job's, when that is unfinished and has the same unique key.
create or replace function penstock.enqueue_scheduled(p_schedule penstock.schedules, p_tick timestamptz default null)
returns uuid
language sql
as $$
  select id
    from penstock.enqueue_jobs(jsonb_build_array(
      jsonb_build_object('kind', p_schedule.kind, 'args', p_schedule.args)
      || p_schedule.options
      || jsonb_build_object('options', coalesce(p_schedule.options->'options', '{}') || jsonb_strip_nulls(
           jsonb_build_object(
             'schedule', p_schedule.name,
             'tick', to_char(p_tick at time zone 'utc', 'YYYY-MM-DD"T"HH24:MI:SS"Z"'))))))
$$;
