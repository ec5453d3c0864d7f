-- Does to these jobs what an operation is about; how many were changed.
create or replace function penstock.operate(p_action text, p_options jsonb, p_ids uuid[])
returns int
language plpgsql
as $$
begin
  if cardinality(p_ids) = 0 then
    return 0;
  end if;
  case p_action
    when 'retry' then
      return cardinality(penstock.retry_where(
        jsonb_build_object('ids', p_ids, 'state', '{failed,cancelled}'::text[]), p_options->>'queue'));
    when 'purge' then
      return penstock.purge_where(jsonb_build_object('ids', p_ids, 'state', '{succeeded,failed,cancelled}'::text[]));
    when 'cancel' then
      return cardinality(penstock.cancel(p_ids, coalesce(p_options->>'reason', 'cancelled')));
    when 'move' then
      return cardinality(penstock.move_jobs(p_ids, p_options->>'queue'));
    when 'set_priority' then
      return cardinality(penstock.set_priority(p_ids, (p_options->>'priority')::int));
    else
      raise exception 'action: there is none called %', p_action using errcode = 'PS001';
  end case;
end
$$;
