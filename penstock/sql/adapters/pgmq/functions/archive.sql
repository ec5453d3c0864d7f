-- Messages that were dealt with: their jobs have succeeded. A worker of ours that runs one finds it gone.
create or replace function pgmq.archive(queue_name text, msg_ids bigint[])
returns setof bigint
language plpgsql
set enable_seqscan = off
set enable_bitmapscan = off
set jit = off
set plan_cache_mode = force_generic_plan
as $$
declare
  v_queue pgmq.meta := pgmq._queue(archive.queue_name);
  v_now timestamptz := penstock.clock();
  v_left bigint[] := archive.msg_ids;
  v_ids uuid[];
  v_archived bigint[];
  v_awaited uuid[];
  v_watched uuid[];
  v_freed text[];
  v_older boolean;
begin
  foreach v_older in array '{false,true}'::boolean[] loop
    v_ids := pgmq._ids(v_queue, v_left, v_older);
    exit when cardinality(v_ids) = 0;
    with done as (
      delete from penstock.jobs
       where id = any(v_ids)
      returning *
    ), filed as (
      insert into penstock.history (
        id, created_at, run_at, started_at, finished_at, turn, lease, state, priority, attempt, max_attempts, claims, snoozes,
        max_snoozes, error_count, weight, awaited, queue, kind, parent, owner, org, unique_key, limit_key, quota, phase, args,
        progress, rollup, options)
      select id, created_at, run_at, started_at, v_now, turn, lease, 'succeeded', priority, attempt, max_attempts, claims, snoozes,
             max_snoozes, error_count, weight, awaited, queue, kind, parent, owner, org, unique_key, limit_key, quota, phase, args,
             progress, rollup, options
        from done
    )
    select array_agg(pgmq._msg_id(id)), array_agg(id) filter (where awaited), array_agg(id) filter (where watched),
           array_agg(queue) filter (where counted)
      into v_archived, v_awaited, v_watched, v_freed
      from done;
    if v_watched is not null then
      perform penstock.tell_watchers(v_watched);
    end if;
    if v_freed is not null then
      perform penstock.wake(queue, count(*)::int) from unnest(v_freed) as queue group by queue;
    end if;
    if v_awaited is not null then
      perform penstock.settle(v_awaited);
    end if;
    return query select unnest(v_archived);
    exit when cardinality(v_archived) = cardinality(v_left);
    v_left := array(select unnest(v_left) except select unnest(v_archived));
  end loop;
end
$$;

create or replace function pgmq.archive(queue_name text, msg_id bigint)
returns boolean
language plpgsql
as $$
begin
  return exists (select from pgmq.archive(queue_name, array[msg_id]));
end
$$;
