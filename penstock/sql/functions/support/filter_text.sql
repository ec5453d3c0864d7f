-- The condition for a filter on jobs, over $1 as the filter itself: values never become part of the text, except for
-- states, by which the planner chooses among the partial indexes. One value is compared by =, because only then does an
-- index also give the order by id (a page of one owner's jobs among a million: 60 blocks instead of 14,000).
create or replace function penstock.filter_text(p_filter jsonb)
returns text
language plpgsql immutable
as $$
declare
  v_key text;
  v_where text := 'true';
begin
  for v_key in select jsonb_object_keys(p_filter) loop
    v_where := v_where || ' and ' || case
      when v_key = 'ids' then
        'id = any(array(select jsonb_array_elements_text($1->''ids''))::uuid[])'
      when v_key = 'state' then
        format('state = any(%L)', penstock.as_array(p_filter->'state'))
        -- of live jobs it is null and of the others never, which takes one half out of the plan; a condition in the view
        -- itself would take away the order by id
        || case when penstock.as_array(p_filter->'state') <@ '{succeeded,failed,cancelled}' then ' and finished_at is not null'
                when not penstock.as_array(p_filter->'state') && '{succeeded,failed,cancelled}' then ' and finished_at is null'
                else '' end
      when v_key = 'parent' and jsonb_typeof(p_filter->'parent') = 'string' then
        'parent = ($1->>''parent'')::uuid'
      when v_key = 'parent' then
        'parent = any(penstock.as_array($1->''parent'')::uuid[])'
      when v_key in ('queue', 'kind', 'owner', 'org', 'unique_key') and jsonb_typeof(p_filter->v_key) = 'string' then
        format('%I = $1->>%L', v_key, v_key)
      when v_key in ('queue', 'kind', 'owner', 'org', 'unique_key') then
        format('%I = any(penstock.as_array($1->%L))', v_key, v_key)
      when v_key = 'id' then
        'id between penstock.uuid_of_prefix($1->>''id'', ''0'') and penstock.uuid_of_prefix($1->>''id'', ''f'')'
      when v_key = 'error' then
        'error_count is not null and penstock.error_says(id, $1->>''error'')'
      when v_key = 'args' then
        'coalesce(args, penstock.payload_of(id)) @> ($1->''args'')'
      when v_key = 'created_after' then
        'created_at >= ($1->>''created_after'')::timestamptz and id >= penstock.uuid7_floor(($1->>''created_after'')::timestamptz - interval ''1 day'')'
      when v_key = 'created_before' then
        'created_at < ($1->>''created_before'')::timestamptz'
    end;
    if v_where is null then
      raise exception '%: no such filter of jobs', v_key using errcode = 'PS001';
    end if;
  end loop;
  return v_where;
end
$$;
