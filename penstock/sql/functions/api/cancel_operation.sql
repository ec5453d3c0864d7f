-- Ends an operation that is under way, after the chunk that it is at: what it has done stays done. False when it had ended.
create or replace function penstock.cancel_operation(p_id uuid, p_who text)
returns boolean
language plpgsql
as $$
declare
  v_operation penstock.operations;
begin
  update penstock.operations set state = 'cancelled', finished_at = penstock.clock() where id = p_id and state = 'running'
  returning * into v_operation;
  if not found then
    return false;
  end if;
  perform penstock.add_audit(p_who, v_operation.action || ' cancelled', p_id::text, '{}', v_operation.done);
  return true;
end
$$;
