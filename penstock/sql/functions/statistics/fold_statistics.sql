-- Adds what was reported to the statistics and to the errors, and forgets what is old. Returns how many reports there were.
create or replace function penstock.fold_statistics()
returns int
language plpgsql
set jit = off
as $$
declare
  v_now timestamptz := penstock.clock();
  v_kept interval := (select statistics_kept from penstock.settings);
  -- others come in meanwhile
  v_numbers bigint[] := array(select number from penstock.reports);
begin
  if cardinality(v_numbers) > 0 then
    execute format(
      'insert into penstock.statistics as s (seconds, at, queue, kind, succeeded, failed, retried, cancelled, waited, ran,
                                             waited_seconds, ran_seconds)
       select l.seconds, l.at, l.queue, l.kind, sum(succeeded), sum(failed), sum(retried), sum(cancelled), %s, %s,
              sum(waited_seconds), sum(ran_seconds)
         from penstock.reported_runs($1) as r
        cross join lateral (
          values (60, date_trunc(''minute'', r.at), r.queue, ''''), (60, date_trunc(''minute'', r.at), '''', ''''),
                 (3600, date_trunc(''hour'', r.at), r.queue, ''''), (3600, date_trunc(''hour'', r.at), '''', ''''),
                 (3600, date_trunc(''hour'', r.at), '''', r.kind), (0, ''-infinity'', r.queue, '''')) as l (seconds, at, queue, kind)
        group by l.seconds, l.at, l.queue, l.kind
        order by l.seconds, l.queue, l.kind, l.at
           on conflict (seconds, queue, kind, at) do update
          set succeeded = s.succeeded + excluded.succeeded, failed = s.failed + excluded.failed,
              retried = s.retried + excluded.retried, cancelled = s.cancelled + excluded.cancelled,
              waited = penstock.add_buckets(s.waited, excluded.waited), ran = penstock.add_buckets(s.ran, excluded.ran),
              waited_seconds = s.waited_seconds + excluded.waited_seconds, ran_seconds = s.ran_seconds + excluded.ran_seconds',
      penstock.sum_of_buckets('waited'), penstock.sum_of_buckets('ran'))
      using v_numbers;
    perform penstock.fold_errors(v_numbers);
    delete from penstock.reports where number = any(v_numbers);
  end if;
  delete from penstock.statistics where seconds = 60 and at < v_now - least(v_kept, interval '2 days');
  delete from penstock.statistics where seconds = 3600 and at < v_now - v_kept;
  delete from penstock.failures where hour < v_now - v_kept;
  delete from penstock.depths where at < v_now - v_kept;
  delete from penstock.depths
   where at < v_now - interval '2 days' and at >= v_now - interval '2 days 2 hours' and extract(minute from at) <> 0;
  return cardinality(v_numbers);
end
$$;
