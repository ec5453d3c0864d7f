-- Books the starts of a claim under the queue's rate and its keys' rate. Those that have left the window are never read again;
-- maintain() removes them.
create or replace function penstock.count_starts(p_queue penstock.queues, p_ids uuid[], p_now timestamptz)
returns void
language plpgsql
as $$
declare
  v_bucket timestamptz := date_bin(p_queue.rate_period / 100, p_now, timestamptz '2000-01-01 00:00:00+00');
begin
  insert into penstock.starts (queue, key, bucket, jobs)
  select p_queue.name, key, v_bucket, count(*)
    from (select '' as key
            from unnest(p_ids)
           where p_queue.rate is not null
           union all
          select j.limit_key
            from penstock.jobs as j
           where j.id = any(p_ids) and j.limit_key is not null and p_queue.rate_per_key is not null) as started
   group by key
      on conflict (queue, key, bucket) do update set jobs = starts.jobs + excluded.jobs;
end
$$;
