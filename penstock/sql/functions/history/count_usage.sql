-- Adds to the usage of a day; artifacts count their bytes here.
create or replace function penstock.count_usage(
  p_org text, p_kind text, p_runs bigint default 0, p_seconds double precision default 0,
  p_failures bigint default 0, p_bytes bigint default 0
)
returns void
language sql
as $$
  insert into penstock.usage_log (day, org, kind, runs, seconds, failures, bytes)
  values ((penstock.clock() at time zone 'utc')::date, coalesce(p_org, ''), p_kind, p_runs, p_seconds, p_failures, p_bytes)
$$;
