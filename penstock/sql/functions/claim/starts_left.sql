-- How many more jobs may start now, for a queue (key '') or one of its keys, under a rate of p_rate per p_period.
-- Exact for every window of that length, not on average: a bucket counts until its last instant has left the window.
create or replace function penstock.starts_left(p_queue text, p_key text, p_rate int, p_period interval, p_now timestamptz)
returns int
language sql stable
as $$
  select p_rate - coalesce(sum(jobs), 0)::int
    from penstock.starts
   where queue = p_queue and key = p_key
     and bucket > p_now - p_period - p_period / 100
$$;
