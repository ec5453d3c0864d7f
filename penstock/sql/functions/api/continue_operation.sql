-- Goes on with the operation that has waited longest, by a chunk of jobs; false when there is nothing to go on with. Whoever comes
-- while another is at it leaves it to that one. What it has done and how far it came are committed together, so whoever takes
-- over repeats nothing. What gets a new turn is taken oldest first, so that it keeps its order; else newest first.
create or replace function penstock.continue_operation(p_chunk int default 1000)
returns boolean
language plpgsql
as $$
declare
  v_now timestamptz := penstock.clock();
  v_operation penstock.operations;
  v_found record;
  v_done int;
  v_after uuid;
begin
  select * into v_operation from penstock.operations where state = 'running' order by id limit 1 for update skip locked;
  if not found then
    return false;
  end if;
  begin
    if v_operation.action in ('move', 'set_priority') then
      v_after := coalesce(v_operation.cursor, '00000000-0000-0000-0000-000000000000');
      v_operation.cursor := null;
    end if;
    select * into v_found
      from penstock.search_jobs(v_operation.filter, v_operation.cursor, p_chunk, p_ms => 500, p_after => v_after);
    v_done := penstock.operate(v_operation.action, v_operation.options, v_found.ids);
    update penstock.operations
       set done = done + v_done, cursor = v_found.next,
           state = case when v_found.next is null then 'done' else state end,
           finished_at = case when v_found.next is null then v_now end
     where id = v_operation.id
    returning * into v_operation;
  exception
    when deadlock_detected or serialization_failure or lock_not_available or query_canceled then
      raise;
    when others then
      update penstock.operations set state = 'failed', error = sqlerrm, finished_at = v_now where id = v_operation.id
      returning * into v_operation;
  end;
  if v_operation.state <> 'running' then
    perform penstock.add_audit(v_operation.who, v_operation.action || ' ' || v_operation.state, v_operation.id::text,
                               jsonb_strip_nulls(jsonb_build_object('error', v_operation.error)), v_operation.done);
  end if;
  return true;
end
$$;
