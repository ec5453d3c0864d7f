-- Enqueues jobs given as a JSON array and returns, in its order, each job's id and whether it was created by this call
-- (false: a live job with the same unique key, or the job of the same idempotency key, stands for it). One transaction:
-- bad input changes nothing. A flow's jobs come after their parent; what a job waits for (`after`) comes before it.
create or replace function penstock.enqueue_jobs(p_jobs jsonb)
returns table (id uuid, created boolean)
language plpgsql
set enable_seqscan = off
as $$
#variable_conflict use_column
declare
  v_children jsonb;
  v_awaited uuid[];
  v_left_out uuid[] := '{}';
  v_queues text[] := '{}';
  v_job jsonb;
  v_row penstock.jobs;
begin
  if jsonb_typeof(p_jobs) is distinct from 'array' then
    raise exception 'jobs: must be a JSON array of objects' using errcode = 'PS001';
  end if;
  if jsonb_array_length(p_jobs) > 1 then
    select jsonb_object_agg(parent, children)
      into v_children
      from (select job->>'parent' as parent, count(*) as children
              from jsonb_array_elements(p_jobs) as job
             where job ? 'parent'
             group by 1) as flows;
    v_awaited := array(
      select distinct waits_for::uuid
        from jsonb_array_elements(p_jobs) as job, jsonb_array_elements_text(job->'after') as waits_for);
  end if;

  perform from penstock.jobs where false; -- locks it, see next_turn()
  for v_job in select * from jsonb_array_elements(p_jobs) loop
    v_row := penstock.new_job(v_job);
    v_row.waiting_on := coalesce((v_children->>(v_row.id::text))::int, 0);
    v_row.awaited := coalesce(v_row.id = any(v_awaited), false);
    if v_row.rollup is not null and v_row.waiting_on = 0 then
      raise exception 'flow % has no jobs', v_row.id using errcode = 'PS001';
    end if;
    if v_row.parent = any(v_left_out) then
      created := false;
      v_left_out := v_left_out || v_row.id;
    else
      if v_row.parent is not null and not coalesce(v_children ? v_row.parent::text
           and exists (select from penstock.jobs as p where p.id = v_row.parent and p.rollup is not null), false) then
        raise exception 'parent: % is no flow of this call', v_row.parent using errcode = 'PS001';
      end if;
      select e.id, e.created
        into v_row.id, created
        from penstock.enqueue_one(v_row, v_job, p_jobs) as e;
      if created then
        v_queues := v_queues || v_row.queue;
      elsif v_row.rollup is not null then
        v_left_out := v_left_out || (v_job->>'id')::uuid;
      end if;
    end if;
    id := v_row.id;
    return next;
  end loop;
  perform penstock.wake(queue, count(*)::int) from unnest(v_queues) as queue group by queue;
end
$$;
