-- The text of a histogram that sums those of a column, bucket by bucket: fourteen hundred of them in 4 ms, where taking them apart and
-- grouping by place takes 50.
create or replace function penstock.sum_of_buckets(p_column text)
returns text
language sql immutable
return (select format('array[%s]::bigint[]', string_agg(format('coalesce(sum(%I[%s]), 0)', p_column, place), ', ' order by place))
          from generate_series(1, 25) as place);
