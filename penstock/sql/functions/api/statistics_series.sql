-- How many runs ended how, and how long they waited and took, in steps of so many seconds from p_since until now: of all, of a queue
-- or of a kind; with p_each of every queue. Steps without any have zeros. Kinds are kept by the hour, and so is what is older than two days.
create or replace function penstock.statistics_series(
  p_since timestamptz, p_step int, p_queue text default null, p_kind text default null, p_each boolean default false
)
returns table (
  at timestamptz, queue text, succeeded bigint, failed bigint, retried bigint, cancelled bigint, waited bigint[], ran bigint[],
  waited_seconds double precision, ran_seconds double precision
)
language plpgsql stable
set jit = off
as $$
declare
  c_origin constant timestamptz := '2024-01-01 00:00:00+00';
  v_now timestamptz := penstock.clock();
  v_step interval := make_interval(secs => p_step);
  v_since timestamptz;
  v_level int := case when p_kind is not null or p_step % 3600 = 0 then 3600 else 60 end;
begin
  if p_step is null or p_step < v_level or p_step % v_level <> 0 then
    raise exception 'step: must be a multiple of % seconds, not %', v_level, p_step using errcode = 'PS001';
  elsif p_queue is not null and p_kind is not null then
    raise exception 'kind: is counted over all queues; leave out the queue' using errcode = 'PS001';
  elsif p_since is null or p_since > v_now or v_now - p_since > 2000 * v_step then
    raise exception 'since: must be at most 2000 steps ago' using errcode = 'PS001';
  end if;
  v_since := date_bin(v_step, p_since, c_origin);
  return query execute format(
    'with found as (
       select at, queue, succeeded, failed, retried, cancelled, waited, ran, waited_seconds, ran_seconds
         from penstock.statistics
        where seconds = $1 and at >= $2 and kind = coalesce($6, '''') and (case when $7 then queue <> '''' else queue = coalesce($5, '''') end)
       union all
       select at, case when $7 then queue else coalesce($5, '''') end, succeeded, failed, retried, cancelled, waited, ran, waited_seconds,
              ran_seconds
         from penstock.reported_runs()
        where at >= $2 and ($5 is null or queue = $5) and ($6 is null or kind = $6)
     ), summed as (
       select date_bin($3, at, %L) as at, queue, sum(succeeded)::bigint as succeeded, sum(failed)::bigint as failed,
              sum(retried)::bigint as retried, sum(cancelled)::bigint as cancelled, %s as waited, %s as ran,
              sum(waited_seconds) as waited_seconds, sum(ran_seconds) as ran_seconds
         from found
        group by 1, 2
     )
     select step, named.queue, coalesce(succeeded, 0), coalesce(failed, 0), coalesce(retried, 0), coalesce(cancelled, 0),
            coalesce(waited, ''{}''), coalesce(ran, ''{}''), coalesce(waited_seconds, 0), coalesce(ran_seconds, 0)
       from generate_series($2, $4, $3) as step
      cross join (select coalesce($5, '''') as queue where not $7 union select queue from summed where $7) as named
       left join summed on summed.at = step and summed.queue = named.queue
      order by named.queue, step',
    c_origin, penstock.sum_of_buckets('waited'), penstock.sum_of_buckets('ran'))
    using v_level, v_since, v_step, v_now, p_queue, p_kind, p_each;
end
$$;
