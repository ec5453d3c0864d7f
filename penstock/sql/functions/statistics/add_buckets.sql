-- Two histograms as one.
create or replace function penstock.add_buckets(p_one bigint[], p_other bigint[])
returns bigint[]
language sql immutable parallel safe
return array(select coalesce(one, 0) + coalesce(other, 0) from unnest(p_one, p_other) as bucket (one, other));
