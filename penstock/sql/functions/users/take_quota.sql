-- Counts what a user has just enqueued against a quota, and refuses what is too much: the caller's transaction then undoes it.
-- p_started of these jobs are counted as operations. The row lets one user's requests pass one by one, nobody else's.
create or replace function penstock.take_quota(p_owner text, p_quota text, p_started int)
returns void
language plpgsql
set enable_seqscan = off
as $$
declare
  v_now timestamptz := penstock.clock();
  v_day date := (v_now at time zone 'utc')::date;
  v_quota penstock.quotas;
  v_used bigint;
  v_count bigint;
begin
  select * into v_quota from penstock.quotas where name = p_quota;
  if not found or p_started = 0 then
    return;
  end if;
  insert into penstock.quota_use as o (owner, quota, day, used)
  values (p_owner, p_quota, v_day, p_started)
      on conflict (owner, quota, day) do update set used = o.used + excluded.used
  returning used into v_used;
  if v_quota.storage is not null then
    v_count := penstock.stored_bytes(p_owner);
    if v_count >= v_quota.storage then
      perform penstock.refuse_storage(v_count, v_quota.storage);
    end if;
  end if;
  if v_quota.running is not null then
    v_count := v_quota.running - penstock.quota_allowance(p_quota, p_owner, penstock.time_floor());
    if v_count >= v_quota.running then
      raise exception 'running: % of your jobs are running, of % at most; try again when one has finished',
        v_count, v_quota.running
        using errcode = 'PS012',
              detail = jsonb_build_object('which', 'running', 'used', v_count, 'limit', v_quota.running, 'retry_in', 5)::text;
    end if;
  end if;
  if v_quota.unfinished is not null then
    -- walks what this owner has finished since somebody's old snapshot: see decision 27
    select count(*)
      into v_count
      from penstock.jobs as j
     where j.owner = p_owner
       and (j.options->>'quota' = p_quota
            or exists (select from penstock.kinds as k where k.kind = j.kind and k.quota = p_quota));
    if v_count > v_quota.unfinished then
      raise exception 'unfinished: you would have % unfinished jobs, of % at most; try again when some have finished',
        v_count, v_quota.unfinished
        using errcode = 'PS012',
              detail = jsonb_build_object('which', 'unfinished', 'used', greatest(v_count - p_started, 0),
                                          'limit', v_quota.unfinished, 'retry_in', 5)::text;
    end if;
  end if;
  if v_used > v_quota.per_day then
    raise exception 'per_day: % operations a day are allowed, and they are used up', v_quota.per_day
      using errcode = 'PS011',
            detail = jsonb_build_object(
              'which', 'per_day', 'used', v_used - p_started, 'limit', v_quota.per_day,
              'retry_in', ceil(extract(epoch from (v_day + 1)::timestamp at time zone 'utc' - v_now)))::text;
  end if;
end
$$;
