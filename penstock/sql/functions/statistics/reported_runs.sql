-- What was reported and is not folded yet, one row for each queue and kind of a report: of all reports, or of those of these numbers.
create or replace function penstock.reported_runs(p_numbers bigint[] default null)
returns table (
  at timestamptz, queue text, kind text, succeeded bigint, failed bigint, retried bigint, cancelled bigint,
  waited bigint[], ran bigint[], waited_seconds double precision, ran_seconds double precision
)
language sql stable
as $$
  select r.at, c.queue, c.kind, coalesce(c.succeeded, 0), coalesce(c.failed, 0), coalesce(c.retried, 0), coalesce(c.cancelled, 0),
         coalesce(c.waited, '{}'), coalesce(c.ran, '{}'), coalesce(c.waited_seconds, 0), coalesce(c.ran_seconds, 0)
    from penstock.reports as r
   cross join jsonb_to_recordset(r.runs) as c (
     queue text, kind text, succeeded bigint, failed bigint, retried bigint, cancelled bigint,
     waited bigint[], ran bigint[], waited_seconds double precision, ran_seconds double precision)
   where p_numbers is null or r.number = any(p_numbers)
$$;
