-- How many runs of each queue ended how, ever: what was folded, and what was reported since.
create or replace function penstock.ended_jobs()
returns table (queue text, succeeded bigint, failed bigint, retried bigint, cancelled bigint)
language sql stable
as $$
  select queue, sum(succeeded)::bigint, sum(failed)::bigint, sum(retried)::bigint, sum(cancelled)::bigint
    from (select s.queue, s.succeeded, s.failed, s.retried, s.cancelled
            from penstock.statistics as s
           where s.seconds = 0
          union all
          select r.queue, r.succeeded, r.failed, r.retried, r.cancelled from penstock.reported_runs() as r) as counted
   group by queue
   order by queue
$$;
