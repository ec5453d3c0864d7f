-- Begins an action over many jobs: retry, cancel, purge, move or set_priority. Up to a thousand are done at once; more in the
-- background, by continue_operation(). Options: queue (of move; of retry, another one), priority, reason (of cancel).
create or replace function penstock.start_operation(p_id uuid, p_action text, p_filter jsonb, p_options jsonb, p_who text)
returns setof penstock.operations
language plpgsql
as $$
#variable_conflict use_column
declare
  c_at_once constant int := 1000;
  v_now timestamptz := penstock.clock();
  v_filter jsonb := penstock.operation_filter(p_action, p_filter, v_now);
  v_found record;
  v_total int;
  v_done int;
  v_at_once boolean;
begin
  if exists (select from penstock.operations where id = p_id) then
    return query select * from penstock.operations where id = p_id; -- asked again, after a lost connection
    return;
  end if;
  if p_action = 'move' and coalesce(p_options->>'queue', '') = '' then
    raise exception 'queue: must name the queue to move them to' using errcode = 'PS001';
  elsif p_action = 'set_priority' and jsonb_typeof(p_options->'priority') is distinct from 'number' then
    raise exception 'priority: must be a whole number' using errcode = 'PS001';
  end if;
  select * into v_found from penstock.search_jobs(v_filter, p_limit => 10000, p_most => 40000);
  v_total := cardinality(v_found.ids);
  v_at_once := v_found.next is null and v_total <= c_at_once;
  if v_at_once then
    v_done := penstock.operate(p_action, p_options, v_found.ids);
  end if;
  insert into penstock.operations (
    id, created_at, finished_at, total, total_is_exact, done, state, action, who, filter, options)
  values (p_id, v_now, case when v_at_once then v_now end, v_total, v_found.next is null, coalesce(v_done, 0),
          case when v_at_once then 'done' else 'running' end, p_action, p_who, v_filter, p_options);
  perform penstock.add_audit(p_who, p_action, p_id::text, jsonb_build_object('filter', p_filter, 'options', p_options), v_done);
  return query select * from penstock.operations where id = p_id;
end
$$;
