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
  v_left bigint[] := archive.msg_ids;
  v_ids uuid[];
  v_archived bigint[];
  v_finished uuid[];
  v_settling uuid[];
  v_older boolean;
begin
  foreach v_older in array '{false,true}'::boolean[] loop
    v_ids := pgmq._ids(v_queue, v_left, v_older);
    exit when cardinality(v_ids) = 0;
    select finished, settling into v_finished, v_settling from penstock.finish(v_ids, 'succeeded');
    perform penstock.settle(v_settling);
    v_archived := array(select pgmq._msg_id(id) from unnest(v_finished) as id);
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
