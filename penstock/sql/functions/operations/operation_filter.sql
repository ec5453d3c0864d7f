-- Which jobs an action is about: of a filter those that are in a state for it, and none that came after p_now. Jobs that are named
-- one by one may be in any such state; of a filter without states, a retry and a purge mean what failed.
create or replace function penstock.operation_filter(p_action text, p_filter jsonb, p_now timestamptz)
returns jsonb
language plpgsql stable
as $$
declare
  v_possible text[] := case p_action
    when 'retry' then '{failed,cancelled}'
    when 'purge' then '{succeeded,failed,cancelled}'
    when 'cancel' then '{blocked,scheduled,ready,running}'
    when 'move' then '{blocked,scheduled,ready}'
    when 'set_priority' then '{blocked,scheduled,ready}'
  end;
  v_states text[];
begin
  if v_possible is null then
    raise exception 'action: must be retry, cancel, purge, move or set_priority, not %', p_action using errcode = 'PS001';
  end if;
  if p_filter is null or p_filter = '{}' then
    raise exception 'filter: choose jobs by at least one condition' using errcode = 'PS001';
  end if;
  v_states := case
    when p_filter ? 'state' then array(select unnest(penstock.as_array(p_filter->'state')) intersect select unnest(v_possible) order by 1)
    when p_action in ('retry', 'purge') and not p_filter ? 'ids' then '{failed}'
    else v_possible end;
  return p_filter
    || jsonb_build_object('state', case when cardinality(v_states) = 1 then to_jsonb(v_states[1]) else to_jsonb(v_states) end)
    || case when p_filter ? 'ids' then '{}'
            else jsonb_build_object('created_before', least((p_filter->>'created_before')::timestamptz, p_now)) end;
end
$$;
