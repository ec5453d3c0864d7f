-- What was used since a day, of one organisation or of all: the sums of each day, organisation and kind (`by`). Of organisations and
-- kinds the two hundred that ran longest.
create or replace function penstock.sum_usage(p_since date, p_org text default null)
returns table (by text, name text, runs bigint, seconds double precision, failures bigint, bytes bigint)
language sql stable
set jit = off
as $$
  select by, name, runs, seconds, failures, bytes
    from (select by, name, runs, seconds, failures, bytes, row_number() over (partition by by order by seconds desc, name) as place
            from (select case when grouping(day) = 0 then 'day' when grouping(org) = 0 then 'org' else 'kind' end as by,
                         coalesce(day::text, org, kind) as name, sum(runs)::bigint as runs, sum(seconds) as seconds,
                         sum(failures)::bigint as failures, sum(bytes)::bigint as bytes
                    from (select * from penstock.usage union all select * from penstock.usage_log) as used
                   where day >= p_since and (p_org is null or org = p_org)
                   group by grouping sets ((day), (org), (kind))) as summed) as placed
   where by = 'day' or place <= 200
   order by by, case when by = 'day' then name end, seconds desc, name
$$;
