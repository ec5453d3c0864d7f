-- A job that is made up of tasks, before it has any: it waits until add_task() has given it the first.
create or replace function penstock.open_job(p_type text, p_params jsonb, p_user_id text)
returns uuid
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
declare
  v_job jsonb := jsonb_strip_nulls(jsonb_build_object('kind', p_type, 'queue', 'tasks', 'owner', p_user_id))
    || jsonb_build_object('args', p_params, 'quota', false, 'rollup', jsonb_build_object(
         'policy', 'continue', 'hollow', true, 'total', 0, 'succeeded', 0, 'failed', 0, 'cancelled', 0, 'start', 0,
         'phases', '[]'::jsonb));
  v_row penstock.jobs;
begin
  perform from penstock.jobs where false; -- locks it, see next_turn()
  v_row := penstock.new_job(v_job);
  v_row.waiting_on := 1;
  v_row.awaited := false;
  perform penstock.enqueue_one(v_row, v_job, jsonb_build_array(v_job));
  return v_row.id;
end
$$;
