-- What was used since a day, of one organisation or of all: the sums of each day, organisation and kind (`by`). Of organisations and
-- kinds the two hundred that ran longest.
create or replace function penstock.sum_usage(p_since date, p_org text default null)
returns table (by text, name text, runs bigint, seconds double precision, failures bigint, bytes bigint)
language sql stable
set jit = off
as $$
  with used as (
    select day, by, name, runs, seconds, failures, bytes from penstock.usage_sums where day >= p_since and p_org is null
    union all
    select day, case when grouping(org) = 0 then 'org' else 'kind' end, coalesce(org, kind),
           sum(runs), sum(seconds), sum(failures), sum(bytes)
      from (select * from penstock.usage_log where day >= p_since and (p_org is null or org = p_org)
            union all
            select * from penstock.usage where day >= p_since and org = p_org) as found
     group by grouping sets ((day, org), (day, kind))
  ), summed as (
    select by, name, sum(runs)::bigint as runs, sum(seconds) as seconds, sum(failures)::bigint as failures, sum(bytes)::bigint as bytes
      from used
     group by by, name
    union all
    select 'day', day::text, sum(runs)::bigint, sum(seconds), sum(failures)::bigint, sum(bytes)::bigint
      from used
     where by = 'kind'
     group by day
  )
  select by, name, runs, seconds, failures, bytes
    from (select *, row_number() over (partition by by order by seconds desc, name) as place from summed) as placed
   where by = 'day' or place <= 200
   order by by, case when by = 'day' then name end, seconds desc, name
$$;
