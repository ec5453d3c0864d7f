-- What was counted ever, in a row of each queue (statistics) and of each kind (usage_sums), kept with the rows of days and hours and
-- never added up from them: counters that are scraped every few seconds must neither cost more nor fall as history grows and goes.
insert into penstock.statistics (
  seconds, at, queue, kind, succeeded, failed, retried, cancelled, waited, ran, waited_seconds, ran_seconds)
select 0, '-infinity', queue, '', sum(succeeded), sum(failed), sum(retried), sum(cancelled), '{}', '{}', sum(waited_seconds),
       sum(ran_seconds)
  from penstock.statistics
 where seconds = 3600 and queue <> '' and kind = ''
 group by queue;
insert into penstock.usage_sums (day, by, name, runs, seconds, failures, bytes)
select '-infinity', 'ever', name, sum(runs), sum(seconds), sum(failures), sum(bytes)
  from penstock.usage_sums
 where by = 'kind'
 group by name;
comment on column penstock.statistics.seconds is
  'The length of the step; 0 in the row of all that was counted ever, whose time is -infinity.';
comment on column penstock.usage_sums.by is
  'org or kind, of that day; ever is the row of all days of a kind, whose day is -infinity.';
