-- Adds what was appended to usage_log into usage, and into the sums of each organisation and kind, and of each kind ever. Returns how many rows were folded.
create or replace function penstock.fold_usage()
returns int
language plpgsql
as $$
declare
  v_folded int;
begin
  with taken as (
    delete from penstock.usage_log returning *
  ), summed as (
    select day, org, kind, sum(runs) as runs, sum(seconds) as seconds, sum(failures) as failures, sum(bytes) as bytes,
           count(*) as folded
      from taken
     group by day, org, kind
  ), added as (
    insert into penstock.usage as u (day, org, kind, runs, seconds, failures, bytes)
    select day, org, kind, runs, seconds, failures, bytes from summed order by day, org, kind
        on conflict (day, org, kind) do update
       set runs = u.runs + excluded.runs, seconds = u.seconds + excluded.seconds,
           failures = u.failures + excluded.failures, bytes = u.bytes + excluded.bytes
  ), added_to_sums as (
    insert into penstock.usage_sums as u (day, by, name, runs, seconds, failures, bytes)
    select coalesce(day, '-infinity'),
           case when grouping(day) = 1 then 'ever' when grouping(org) = 0 then 'org' else 'kind' end, coalesce(org, kind),
           sum(runs), sum(seconds), sum(failures), sum(bytes)
      from summed
     group by grouping sets ((day, org), (day, kind), (kind))
     order by 1, 2, 3
        on conflict (day, by, name) do update
       set runs = u.runs + excluded.runs, seconds = u.seconds + excluded.seconds,
           failures = u.failures + excluded.failures, bytes = u.bytes + excluded.bytes
  )
  select coalesce(sum(folded), 0) into v_folded from summed;
  return v_folded;
end
$$;
