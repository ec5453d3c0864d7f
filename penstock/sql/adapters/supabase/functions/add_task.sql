-- Adds a task to a job that has not ended. Its phase is its type without `_generation`: phases have their share of the percentage
-- by how many tasks they have.
create or replace function penstock.add_task(p_job_id uuid, p_type text, p_sequence int, p_input jsonb, p_max_attempts int)
returns uuid
language plpgsql
set search_path = pg_catalog, pg_temp
set enable_seqscan = off
as $$
declare
  v_job penstock.jobs;
  v_task jsonb;
  v_row penstock.jobs;
  v_total int;
  v_phases jsonb;
begin
  perform penstock.lock_flows(array[p_job_id]);
  select * into v_job from penstock.jobs where id = p_job_id and state = 'blocked' and (rollup->>'hollow')::boolean;
  if not found or v_job.cancel_requested then
    raise exception 'job_id: % is no job that takes tasks: it has ended, or was not inserted into jobs', p_job_id
      using errcode = '22023';
  end if;
  v_task := jsonb_strip_nulls(jsonb_build_object(
      'kind', p_type, 'queue', v_job.queue, 'priority', -p_sequence, 'max_attempts', p_max_attempts, 'owner', v_job.owner,
      'org', v_job.org, 'parent', p_job_id, 'phase', regexp_replace(p_type, '_generation$', ''), 'weight', 1))
    || jsonb_build_object('args', p_input, 'quota', false);
  v_row := penstock.new_job(v_task);
  v_row.waiting_on := 0;
  v_row.awaited := false;
  perform penstock.enqueue_one(v_row, v_task, jsonb_build_array(v_task));
  v_total := (v_job.rollup->>'total')::int + 1;
  select jsonb_agg(jsonb_build_object('name', name, 'weight', weight, 'done', done, 'span', 100 * weight / v_total) order by place)
    into v_phases
    from (select name, min(place) as place, sum(weight) as weight, sum(done) as done
            from (select phase->>'name' as name, place, (phase->>'weight')::numeric as weight, (phase->>'done')::numeric as done
                    from jsonb_array_elements(v_job.rollup->'phases') with ordinality as p (phase, place)
                  union all
                  select v_row.phase, 1000000, 1, 0) as each_phase
           group by name) as phases;
  v_job.rollup := v_job.rollup || jsonb_build_object('total', v_total, 'phases', v_phases);
  update penstock.jobs
     set rollup = v_job.rollup, progress = penstock.rollup_progress(v_job.rollup, v_job.progress),
         waiting_on = case when v_total = 1 then 1 else waiting_on + 1 end
   where id = p_job_id;
  perform penstock.wake(v_row.queue);
  return v_row.id;
end
$$;
